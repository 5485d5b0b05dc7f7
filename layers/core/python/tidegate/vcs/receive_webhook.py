"""Receive a webhook: verify it, store what is used of it, queue it, and only then acknowledge it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tidegate.ports.clock import Clock
from tidegate.ports.deliveries import Deliveries, Delivery, EventQueue, WebhookSecrets
from tidegate.rules.errors import InvalidWebhook, OversizedWebhook, UnverifiedWebhook
from tidegate.vcs.rules.decision import Accepted, Decision, Refused
from tidegate.vcs.rules.events import COMMENT_PREFIXES, read_event
from tidegate.vcs.rules.webhook import check_signature, check_size, delivery_id, parse_payload

#: How long whoever stored a delivery may take to queue it: longer than the function's time limit of 9 s.
QUEUEING_SECONDS = 10


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A request as it came; the headers are None when absent.

    ``signature`` is what shows that the forge sent it, ``event`` names its kind, ``delivery`` numbers it.
    """

    body: bytes
    signature: str | None
    event: str | None
    delivery: str | None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a forge sends webhooks.

    ``check`` raises UnverifiedWebhook for a body and a signature that no secret stands for; ``delivery`` returns a
    request's id, and ``read`` decides about an event of a kind: both raise InvalidWebhook. ``identify`` returns the
    id that what is accepted is stored under.
    """

    check: Callable[[bytes, str | None, Sequence[str]], None]
    delivery: Callable[[WebhookRequest], str]
    read: Callable[[str, Mapping[str, Any], Sequence[str]], Decision]
    identify: Callable[[str, Accepted], str] = lambda delivery, _: delivery


#: GitHub signs bodies and numbers deliveries.
GITHUB = Dialect(check_signature, lambda request: delivery_id(request.delivery), read_event)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the forge is told: an HTTP status, a word for the result, and why."""

    status: int
    result: str
    reason: str
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """Receives webhooks with the given secrets, store, queue and clock.

    ``prefixes`` are the words that comments for Tidegate begin with, ``dialect`` is the forge's.
    """

    secrets: WebhookSecrets
    deliveries: Deliveries
    queue: EventQueue
    clock: Clock
    prefixes: tuple[str, ...] = COMMENT_PREFIXES
    dialect: Dialect = GITHUB

    def receive(self, request: WebhookRequest) -> Answer:
        """Answer one request. What the store or the queue raises passes through: nothing was acknowledged."""
        try:
            check_size(len(request.body))
            if not self.secrets.current():
                return Answer(
                    503,
                    "refused",
                    (
                        "No webhook secret is configured, so Tidegate rejects all webhooks. Store one with 'tidegate "
                        "secret webhook'."
                    ),
                )
            self._verify(request)
            return self._take(request)
        except UnverifiedWebhook as error:
            return Answer(401, "refused", str(error))
        except OversizedWebhook as error:
            return Answer(413, "refused", str(error))
        except InvalidWebhook as error:
            return Answer(400, "refused", str(error))

    def _verify(self, request: WebhookRequest) -> None:
        """Check the signature; if it does not hold, once more with secrets that may just have been rotated."""
        known = self.secrets.current()
        try:
            self.dialect.check(request.body, request.signature, known)
        except UnverifiedWebhook:
            newer = self.secrets.refreshed()
            if newer == known:
                raise
            self.dialect.check(request.body, request.signature, newer)

    def _take(self, request: WebhookRequest) -> Answer:
        identifier = self.dialect.delivery(request)
        decision = self.dialect.read(request.event or "", parse_payload(request.body), self.prefixes)
        if not isinstance(decision, Accepted):
            return Answer(202, "refused" if isinstance(decision, Refused) else "ignored", decision.reason)
        stored = self.dialect.identify(identifier, decision)
        return self._store(Delivery(stored, decision.event, decision.fields, self.clock.now()))

    def _store(self, delivery: Delivery) -> Answer:
        """Store, queue, mark as queued. A copy that finds it stored and long not queued goes on from there."""
        repository = delivery.fields["repository"]
        if not self.deliveries.store(delivery):
            now = delivery.received_at
            found = self.deliveries.take_over(delivery.id, now, now - timedelta(seconds=QUEUEING_SECONDS))
            if found is None:
                return Answer(202, "duplicate", "This delivery was already received.", repository)
            delivery = found
        self.queue.send(delivery)
        self.deliveries.mark_queued(delivery.id)
        return Answer(202, "stored", f"The {delivery.event} event is queued.", repository)
