"""HTTP calls to the local forge: REST, pages, and controls that GitHub does not have."""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

_FORM_SECRET = re.compile(r'name="csrf" value="([0-9a-f]+)"')


#: No proxy: the forge is on this machine. A connection that it closed meanwhile is no failure.
_CLIENT = httpx.Client(timeout=120, trust_env=False, transport=httpx.HTTPTransport(retries=1))


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
        answer = self._answer("POST", action, self._cookie(), self._form(page, fields))
        if not answer.has_redirect_location:
            raise ForgeAnswered(answer.status_code, answer.text[:500])
        return str(answer.headers["Location"])

    def _form(self, page: str, fields: Mapping[str, str]) -> bytes:
        secret = _FORM_SECRET.search(self.page(page))
        return urllib.parse.urlencode({**fields, "csrf": secret.group(1) if secret else ""}).encode()

    def _cookie(self) -> dict[str, str]:
        return {"Cookie": f"forge_user={self.user}"}

    def send(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> str:
        """Return the text of an answer; ``body`` is bytes as they are, anything else JSON. Raise ForgeAnswered."""
        answer = self._answer(method, path, headers, body)
        if answer.has_redirect_location:
            answer = self._answer("GET", answer.headers["Location"].removeprefix(self.url), headers, None)
        if not answer.is_success:
            raise ForgeAnswered(answer.status_code, answer.text[:500])
        return answer.text

    def _answer(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> httpx.Response:
        if isinstance(body, bytes):
            form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
            return _CLIENT.request(method, f"{self.url}{path}", headers=form, content=body)
        return _CLIENT.request(method, f"{self.url}{path}", headers=dict(headers), json=body)


@dataclass(frozen=True, slots=True)
class Levers(Caller):
    """Controls that GitHub does not have: the webhook's URL, failing calls, webhook faults.

    In all of them ``event`` and ``action`` are GitHub's words, ``*`` is any; ``times`` is a number of deliveries.
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
        self.send("DELETE", "/_local/webhook-faults", {}, {})

    def lose_webhooks(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send the next webhooks nowhere; the App's delivery list has them as failed."""
        self._webhook_fault("lose", event, times, action=action)

    def lose_webhook_answers(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send the next webhooks, but record them as timed out, as when the answer is lost."""
        self._webhook_fault("unanswered", event, times, action=action)

    def duplicate_webhooks(self, event: str = "*", times: int = 1, *, action: str = "*") -> None:
        """Send each of the next webhooks twice, under one GUID."""
        self._webhook_fault("duplicate", event, times, action=action)

    def delay_webhooks(self, event: str = "*", times: int = 1, *, seconds: float = 1, action: str = "*") -> None:
        """Send the next webhooks ``seconds`` later."""
        self._webhook_fault("delay", event, times, action=action, seconds=seconds)

    def _webhook_fault(self, kind: str, event: str, times: int, **more: Any) -> None:
        self.send("POST", "/_local/webhook-faults", {}, {"kind": kind, "event": event, "times": times, **more})
