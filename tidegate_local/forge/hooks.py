"""Webhooks: signed, sent in the background, recorded, and, as on GitHub, never redelivered automatically."""

from __future__ import annotations

import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx

from tidegate_local.forge import clock
from tidegate_local.forge.fault_injections import FaultInjections
from tidegate_local.forge.records import Delivery
from tidegate_local.forge.store import Store

_STOP = -1
#: GitHub keeps what was answered only in part.
_KEPT_OF_ANSWER = 10_000
_WORKERS = 4
_LOST = {"status": "failed to connect to host", "status_code": 502}
_TIMED_OUT = {"status": "timed out", "status_code": 504}


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
        self._store, self._dress, self._target = store, dress, target
        self.fault_injections = FaultInjections()
        self._client = httpx.Client(timeout=timeout, trust_env=False)
        self._waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._unanswered: set[int] = set()
        self._threads = [
            threading.Thread(target=self._work, name=f"webhooks-{number}", daemon=True) for number in range(_WORKERS)
        ]

    def start(self) -> None:
        """Begin to send."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after the deliveries that are being sent; what is delayed stays pending."""
        for _ in self._threads:
            self._waiting.put(_STOP)
        for thread in self._threads:
            thread.join()
        self._client.close()

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

    def send(self, event: Event, target: tuple[str, str] | None = None) -> None:
        """Record an event and send it in the background; without an address nothing happens.

        ``target`` is an address and secret of the event's own.
        """
        url, secret = target or self._target
        if url is None:
            return
        body, guid = json.dumps(event.payload, separators=(",", ":")), str(uuid.uuid4())
        headers, action = self._dress(event.name, guid, body, secret), event.action or event.payload.get("action")
        about = event.name, action, event.installation, event.repository_id
        self._dispatch(
            self._store.add(
                lambda fresh: Delivery(fresh, event.repository, guid, *about, url, headers, body, clock.now())
            )
        )

    def _dispatch(self, delivery: Delivery) -> None:
        """Queue a delivery, or let it go wrong as somebody asked."""
        fault_injection = self.fault_injections.take(delivery.event, delivery.action)
        kind = fault_injection.kind if fault_injection else ""
        if kind == "lose":
            self._record(delivery.id, _LOST)
        elif fault_injection is not None and kind == "delay":
            timer = threading.Timer(fault_injection.seconds, self._waiting.put, [delivery.id])
            timer.daemon = True
            timer.start()
        else:
            if kind == "unanswered":
                self._unanswered.add(delivery.id)
            for _ in range(2 if kind == "duplicate" else 1):
                self._waiting.put(delivery.id)

    def send_again(self, number: int) -> None:
        """Send a recorded delivery once more, under the same GUID, there where it goes now. Raise KeyError."""
        old = self._store.get(Delivery, number)
        headers = {**old.request_headers, **self._dress(old.event, old.guid, old.payload, self.secret)}
        url, now = self.url or old.url, clock.now()
        about = old.event, old.action, old.installation, old.repository_id, url, headers, old.payload, now
        again = self._store.add(lambda fresh: Delivery(fresh, old.repository, old.guid, *about, redelivery=True))
        self._waiting.put(again.id)

    def _work(self) -> None:
        while (number := self._waiting.get()) != _STOP:
            result = self._post(self._store.get(Delivery, number))
            if number in self._unanswered:
                self._unanswered.discard(number)
                result = _TIMED_OUT
            self._record(number, result)

    def _record(self, number: int, result: dict[str, Any]) -> None:
        self._store.change(Delivery, number, lambda old: replace(old, **result))

    def _post(self, delivery: Delivery) -> dict[str, Any]:
        """Send one delivery and return the fields that tell how it went. Redirects are not followed."""
        started = time.monotonic()
        try:
            answer = self._client.post(delivery.url, content=delivery.payload, headers=delivery.request_headers)
        except httpx.TimeoutException:
            result: dict[str, Any] = _TIMED_OUT
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            result = {**_LOST, "response": str(error)}
        else:
            is_taken = answer.status_code < 300  # noqa: PLR2004  # HTTP's own.
            result = {
                "status": "OK" if is_taken else f"Invalid HTTP Response: {answer.status_code}",
                "status_code": answer.status_code,
                "response_headers": dict(answer.headers),
                "response": answer.text[:_KEPT_OF_ANSWER],
            }
        return {**result, "duration": round(time.monotonic() - started, 3)}
