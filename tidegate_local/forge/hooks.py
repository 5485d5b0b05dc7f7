"""Webhooks: signed, sent in the background, recorded, and, as on GitHub, never sent again by itself."""

from __future__ import annotations

import http.client
import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from tidegate_local.forge import clock
from tidegate_local.forge.mishaps import Mishap, Mishaps
from tidegate_local.forge.records import Delivery
from tidegate_local.forge.store import Store

_STOP = -1
#: GitHub keeps what was answered only in part.
_KEPT_OF_ANSWER = 10_000
_WORKERS = 4


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell: the event's name, its payload and action, and the ids that a delivery records."""

    name: str
    repository: str
    payload: dict[str, Any]
    repository_id: int | None
    installation: int | None
    action: str | None = None


#: Makes the headers of a delivery from its event's name, GUID, body and the secret of where it goes.
Dress = Callable[[str, str, str, str], dict[str, str]]


class Webhooks:
    """Sends events to one webhook address, or where each event says.

    ``dress`` makes the headers; ``timeout`` is how long a receiver has, in seconds.
    """

    def __init__(self, store: Store, dress: Dress, timeout: float, target: tuple[str | None, str]) -> None:
        self._store, self._dress, self._timeout, self._target = store, dress, timeout, target
        self.mishaps = Mishaps()
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._unanswered: set[int] = set()
        self._overtaken: list[int] = []
        self._timers: list[threading.Timer] = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._work, name=f"webhooks-{number}", daemon=True) for number in range(_WORKERS)
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after the deliveries that are being sent; what is delayed stays pending."""
        with self._lock:
            for timer in self._timers:
                timer.cancel()
        for _ in self._threads:
            self._waiting.put(_STOP)
        for thread in self._threads:
            thread.join(self._timeout + 1)

    @property
    def url(self) -> str | None:
        """Where webhooks go now."""
        return self._target[0]

    @property
    def secret(self) -> str:
        """What webhooks are signed with now."""
        return self._target[1]

    def point_at(self, url: str | None, secret: str) -> None:
        """Send webhooks to ``url`` from now on, signed with ``secret``; None sends them nowhere."""
        self._target = (url, secret)

    def send(self, event: Event, target: tuple[str, str] | None = None) -> Delivery | None:
        """Record an event and send it in the background; without an address nothing happens.

        ``target`` is an address and secret of the event's own.
        """
        url, secret = target or self._target
        if url is None:
            return None
        body = json.dumps(event.payload, separators=(",", ":"))
        guid = str(uuid.uuid4())
        headers = self._dress(event.name, guid, body, secret)
        delivery = self._store.add(
            lambda fresh: Delivery(
                fresh,
                event.repository,
                guid,
                event.name,
                event.action or event.payload.get("action"),
                event.installation,
                event.repository_id,
                url,
                headers,
                body,
                clock.now(),
            )
        )
        self._dispatch(delivery)
        return delivery

    def _dispatch(self, delivery: Delivery) -> None:
        """Queue a delivery, or let it go wrong as somebody asked."""
        mishap = self.mishaps.take(delivery.event, delivery.action)
        kind = mishap.kind if mishap else ""
        if mishap is None or kind in {"unanswered", "duplicate"}:
            if kind == "unanswered":
                self._unanswered.add(delivery.id)
            for _ in range(2 if kind == "duplicate" else 1):
                self._waiting.put(delivery.id)
        elif kind == "lose":
            self._record(delivery.id, {"status": "failed to connect to host", "status_code": 502})
        else:
            self._hold(delivery.id, mishap)

    def _hold(self, number: int, mishap: Mishap) -> None:
        """Send a delivery later: when its time has come, or once the next one is sent."""
        timer = threading.Timer(mishap.seconds, self._release, [number, mishap.kind])
        timer.daemon = True
        with self._lock:
            if mishap.kind == "reorder":
                self._overtaken.append(number)
            self._timers = [*(one for one in self._timers if one.is_alive()), timer]
            timer.start()

    def _release(self, number: int, kind: str) -> None:
        with self._lock:
            if kind == "reorder" and number not in self._overtaken:
                return
            if kind == "reorder":
                self._overtaken.remove(number)
        self._waiting.put(number)

    def _release_overtaken(self) -> None:
        with self._lock:
            numbers, self._overtaken = self._overtaken, []
        for number in numbers:
            self._waiting.put(number)

    def send_again(self, number: int, target: tuple[str, str] | None = None, *, wait: bool = False) -> Delivery:
        """Send a recorded delivery once more, under the same GUID, there where it goes now. Raise KeyError.

        With ``wait`` what is returned tells how it went.
        """
        old = self._store.get(Delivery, number)
        url, secret = target or self._target
        headers = {**old.request_headers, **self._dress(old.event, old.guid, old.payload, secret)}
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
        if wait:
            return self._record(again.id, _post(again, self._timeout))
        self._waiting.put(again.id)
        return again

    def _work(self) -> None:
        while (number := self._waiting.get()) != _STOP:
            result = _post(self._store.get(Delivery, number), self._timeout)
            if number in self._unanswered:
                self._unanswered.discard(number)
                result = {"status": "timed out", "status_code": 504, "duration": self._timeout}
            self._record(number, result)
            self._release_overtaken()

    def _record(self, number: int, result: dict[str, Any]) -> Delivery:
        return self._store.change(Delivery, number, lambda old: replace(old, **result))


def _post(delivery: Delivery, timeout: float) -> dict[str, Any]:
    """Send one delivery and return the fields that tell how it went. Redirects are not followed."""
    started = time.monotonic()
    try:
        result = _exchange(delivery, timeout)
    except TimeoutError:
        result = {"status": "timed out", "status_code": 504}
    except (OSError, ValueError, http.client.HTTPException) as error:
        result = {"status": "failed to connect to host", "status_code": 502, "response": str(error)}
    return {**result, "duration": round(time.monotonic() - started, 3)}


def _exchange(delivery: Delivery, timeout: float) -> dict[str, Any]:
    target = urlsplit(delivery.url)
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    connection = kind(target.hostname or "", target.port, timeout=timeout)
    try:
        path = f"{target.path or '/'}{'?' if target.query else ''}{target.query}"
        connection.request("POST", path, delivery.payload.encode(), delivery.request_headers)
        answer = connection.getresponse()
        return {
            "status": "OK" if answer.status < 300 else f"Invalid HTTP Response: {answer.status}",  # noqa: PLR2004  # HTTP's own.
            "status_code": answer.status,
            "response_headers": dict(answer.getheaders()),
            "response": answer.read(_KEPT_OF_ANSWER).decode("utf-8", "replace"),
        }
    finally:
        connection.close()
