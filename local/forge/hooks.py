"""Webhooks: signed, sent in the background, recorded, and, as on GitHub, never sent again by itself."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import queue
import threading
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, replace
from typing import Any

from local.forge import clock
from local.forge.records import Delivery
from local.forge.settings import Settings
from local.forge.store import Store

_STOP = -1
#: GitHub keeps what was answered only in part.
_KEPT_OF_ANSWER = 10_000
_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell: GitHub's event name, its payload, and the ids that a delivery records."""

    name: str
    repository: str
    payload: dict[str, Any]
    repository_id: int | None
    installation: int | None


class Webhooks:
    """Sends events to the App's one webhook address."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._target = (settings.webhook_url, settings.webhook_secret)
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"webhooks-{number}", daemon=True) for number in range(_WORKERS)
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after the deliveries that are being sent."""
        for _ in self._threads:
            self._waiting.put(_STOP)
        for thread in self._threads:
            thread.join(self._settings.webhook_timeout + 1)

    @property
    def url(self) -> str | None:
        """Where webhooks go now."""
        return self._target[0]

    def point_at(self, url: str | None, secret: str) -> None:
        """Send webhooks to ``url`` from now on, signed with ``secret``; None sends them nowhere."""
        self._target = (url, secret)

    def send(self, event: Event) -> Delivery | None:
        """Record an event and send it in the background; without an address nothing happens."""
        url, secret = self._target
        if url is None:
            return None
        body = json.dumps(event.payload, separators=(",", ":"))
        guid = str(uuid.uuid4())
        headers = self._headers(event, guid, body, secret)
        delivery = self._store.add(
            lambda fresh: Delivery(
                fresh,
                event.repository,
                guid,
                event.name,
                event.payload.get("action"),
                event.installation,
                event.repository_id,
                url,
                headers,
                body,
                clock.now(),
            )
        )
        self._waiting.put(delivery.id)
        return delivery

    def send_again(self, number: int) -> Delivery:
        """Send a recorded delivery once more, under the same GUID. Raise KeyError."""
        old = self._store.get(Delivery, number)
        url, secret = self._target
        headers = {**old.request_headers, **_signatures(old.payload, secret)}
        again = self._store.add(
            lambda fresh: replace(
                old,
                id=fresh,
                redelivery=True,
                url=url or old.url,
                request_headers=headers,
                delivered_at=clock.now(),
                status="pending",
                status_code=0,
                duration=0.0,
                response="",
                response_headers={},
            )
        )
        self._waiting.put(again.id)
        return again

    def _headers(self, event: Event, guid: str, body: str, secret: str) -> dict[str, str]:
        return {
            "Accept": "*/*",
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/local",
            "X-GitHub-Delivery": guid,
            "X-GitHub-Event": event.name,
            "X-GitHub-Hook-ID": str(self._settings.app_id),
            "X-GitHub-Hook-Installation-Target-ID": str(self._settings.app_id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            **_signatures(body, secret),
        }

    def _work(self) -> None:
        while (number := self._waiting.get()) != _STOP:
            delivery = self._store.get(Delivery, number)
            result = _post(delivery, self._settings.webhook_timeout)
            self._store.change(Delivery, number, lambda old, result=result: replace(old, **result))  # type: ignore[misc]


def _signatures(body: str, secret: str) -> dict[str, str]:
    return {
        "X-Hub-Signature": f"sha1={hmac.new(secret.encode(), body.encode(), hashlib.sha1).hexdigest()}",
        "X-Hub-Signature-256": f"sha256={hmac.new(secret.encode(), body.encode(), hashlib.sha256).hexdigest()}",
    }


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


#: No proxy: the address is on this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)


def _post(delivery: Delivery, timeout: float) -> dict[str, Any]:
    """Send one delivery and return the fields that tell how it went."""
    request = urllib.request.Request(  # noqa: S310 - the address comes from the settings
        delivery.url, delivery.payload.encode(), delivery.request_headers, method="POST"
    )
    started = time.monotonic()
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            result = _answered(answer.status, answer.headers, answer.read(_KEPT_OF_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            result = _answered(error.code, error.headers, error.read(_KEPT_OF_ANSWER))
    except TimeoutError:
        result = {"status": "timed out", "status_code": 504}
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        timed_out = isinstance(reason, TimeoutError)
        result = {
            "status": "timed out" if timed_out else "failed to connect to host",
            "status_code": 504 if timed_out else 502,
            "response": str(reason),
        }
    return {**result, "duration": round(time.monotonic() - started, 3)}


def _answered(code: int, headers: Any, body: bytes) -> dict[str, Any]:
    status = "OK" if code < 300 else f"Invalid HTTP Response: {code}"  # noqa: PLR2004
    return {
        "status": status,
        "status_code": code,
        "response_headers": dict(headers.items()),
        "response": body.decode("utf-8", "replace"),
    }
