"""Receive a webhook: verify it, store the used fields, queue it, and only then acknowledge it."""

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

#: Seconds that queueing a stored delivery may take: longer than the function's time limit of 9 s.
QUEUEING_SECONDS = 10


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """A received request; missing headers are None.

    ``signature`` authenticates it, ``event`` is its kind, ``delivery`` its number.
    """

    body: bytes
    signature: str | None
    event: str | None
    delivery: str | None


@dataclass(frozen=True, slots=True)
class Dialect:
    """The webhook format of a VCS provider.

    ``check`` raises UnverifiedWebhook for a body and a signature that match no secret; ``delivery`` returns a request's
    id, and ``read`` decides about an event of a kind: both raise InvalidWebhook. ``identify`` returns the id under
    which an accepted event is stored.
    """

    check: Callable[[bytes, str | None, Sequence[str]], None]
    delivery: Callable[[WebhookRequest], str]
    read: Callable[[str, Mapping[str, Any], Sequence[str]], Decision]
    identify: Callable[[str, Accepted], str] = lambda delivery, _: delivery


#: GitHub signs bodies and numbers deliveries.
GITHUB = Dialect(check_signature, lambda request: delivery_id(request.delivery), read_event)


@dataclass(frozen=True, slots=True)
class Answer:
    """The HTTP response: a status, a word for the result, and why."""

    status: int
    result: str
    reason: str
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """Receives webhooks with the given secrets, store, queue and clock.

    ``prefixes`` are the first words of commands in comments, ``dialect`` is the VCS provider's.
    """

    secrets: WebhookSecrets
    deliveries: Deliveries
    queue: EventQueue
    clock: Clock
    prefixes: tuple[str, ...] = COMMENT_PREFIXES
    dialect: Dialect = GITHUB

    def receive(self, request: WebhookRequest) -> Answer:
        """Answer one request. Errors of the store or the queue are raised: nothing is acknowledged then."""
        try:
            check_size(len(request.body))
            if not (self.secrets.current() or self.secrets.refreshed()):
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
        """Check the signature; if it is invalid, once more with refreshed secrets, which may just have been rotated."""
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
        """Store, queue, mark as queued. A repeated webhook continues from there if queueing took too long."""
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
