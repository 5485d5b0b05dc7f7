"""Calls to the local forge over HTTP: REST, pages, and the switches that GitHub does not have."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

_TIMEOUT = 120
_FORM_SECRET = re.compile(r'name="csrf" value="([0-9a-f]+)"')


class _Staying(urllib.request.HTTPRedirectHandler):
    """Leaves redirects to the caller."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


#: No proxy: the forge is on this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
_STAYING = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Staying)


class ForgeAnswered(Exception):
    """The forge, or git, refused: ``status`` is the HTTP status (0 for git) and the message what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}" if status else message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Caller:
    """Acts as ``user`` on the forge at ``url``; on a local forge the token is the user's name."""

    url: str
    user: str = "maintainer"
    token: str | None = None

    @property
    def credential(self) -> str:
        """The token, which is also the password for git."""
        return self.token or self.user

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON answer of a REST call; ``path`` begins after ``/api/v3``. Raise ForgeAnswered."""
        headers = {"Authorization": f"Bearer {self.credential}", "Accept": "application/vnd.github+json"}
        return json.loads(self.send(method, f"/api/v3{path}", headers, body) or "null")

    def page(self, path: str) -> str:
        """Return a page as this person sees it. Raise ForgeAnswered."""
        return self.send("GET", path, self._cookie(), None)

    def submit(self, page: str, action: str, fields: Mapping[str, str]) -> None:
        """Send the form of a page: ``action`` is its address, the page's when it begins with ``/``."""
        self.send("POST", f"{page}{action}", self._cookie(), self._form(page, fields))

    def submit_and_stay(self, page: str, action: str, fields: Mapping[str, str]) -> str:
        """Send a form and return the address to which the forge leads on, without going there. Raise ForgeAnswered."""
        request = self._request("POST", action, self._cookie(), self._form(page, fields))
        try:
            with _STAYING.open(request, timeout=_TIMEOUT) as answer:
                raise ForgeAnswered(answer.status, "the forge leads nowhere")
        except urllib.error.HTTPError as error:
            with error:
                return _location(error.code, error.headers, error.read())

    def _form(self, page: str, fields: Mapping[str, str]) -> bytes:
        secret = _FORM_SECRET.search(self.page(page))
        return urllib.parse.urlencode({**fields, "csrf": secret.group(1) if secret else ""}).encode()

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": f"forge_user={self.user}"}

    def send(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> str:
        """Return the text of an answer; ``body`` is bytes as they are, anything else JSON. Raise ForgeAnswered."""
        try:
            with _OPENER.open(self._request(method, path, headers, body), timeout=_TIMEOUT) as answer:
                return str(answer.read().decode("utf-8"))
        except urllib.error.HTTPError as error:
            with error:
                raise ForgeAnswered(error.code, error.read().decode("utf-8", "replace")[:500]) from None

    def _request(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> urllib.request.Request:
        request = urllib.request.Request(f"{self.url}{path}", method=method, headers=dict(headers))  # noqa: S310  # This machine's.
        if isinstance(body, bytes):
            request.data = body
        elif body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        return request


def _location(status: int, headers: Message, body: bytes) -> str:
    if status not in {302, 303} or "Location" not in headers:
        raise ForgeAnswered(status, body.decode("utf-8", "replace")[:500])
    return str(headers["Location"])


@dataclass(frozen=True, slots=True)
class Levers(Caller):
    """What GitHub does not have: where webhooks go, calls that fail, webhooks that go wrong.

    In all of them ``event`` and ``action`` are GitHub's words, ``*`` is any; ``times`` deliveries are meant.
    """

    def point_webhook_at(self, url: str | None, secret: str) -> None:
        """Send the forge's webhooks to ``url`` from now on, signed with ``secret``."""
        self.send("PUT", "/_local/webhook", {}, {"url": url, "secret": secret})

    def calls(self) -> list[dict[str, Any]]:
        """Return the newest calls of programs: ``at`` (seconds since 1970), ``method``, ``path`` and ``agent``."""
        found: list[dict[str, Any]] = json.loads(self.send("GET", "/_local/calls", {}, None))["calls"]
        return found

    def inject(self, kind: str, *, method: str = "*", path: str = ".*", times: int = 1, **more: Any) -> None:
        """Let the next ``times`` calls whose path matches fail; faults.py says how."""
        self.send("POST", "/_local/faults", {}, {"kind": kind, "method": method, "path": path, "times": times, **more})

    def clear_faults(self) -> None:
        """Let no call fail any more, and no webhook go wrong."""
        self.send("DELETE", "/_local/faults", {}, {})
        self.send("DELETE", "/_local/mishaps", {}, {})

    def lose_webhooks(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send the next webhooks nowhere; the App's delivery list has them as failed."""
        self._mishap("lose", event, times, action=action)

    def lose_webhook_answers(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send the next webhooks, but record them as timed out, as when the answer is lost."""
        self._mishap("unanswered", event, times, action=action)

    def duplicate_webhooks(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send each of the next webhooks twice, under one GUID."""
        self._mishap("duplicate", event, times, action=action)

    def delay_webhooks(self, event: str = "*", times: int = 1, *, seconds: float = 1, action: str = "*") -> None:
        """Send the next webhooks ``seconds`` later."""
        self._mishap("delay", event, times, action=action, seconds=seconds)

    def reorder_webhooks(self, event: str = "*", times: int = 1, *, seconds: float = 5, action: str = "*") -> None:
        """Send each of the next webhooks after the one that follows it, after ``seconds`` when none follows."""
        self._mishap("reorder", event, times, action=action, seconds=seconds)

    def _mishap(self, kind: str, event: str, times: int, **more: Any) -> None:
        self.send("POST", "/_local/mishaps", {}, {"kind": kind, "event": event, "times": times, **more})
