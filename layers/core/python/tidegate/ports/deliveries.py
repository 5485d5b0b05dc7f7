"""Webhook deliveries: stored, queued, verified, and asked for again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored webhook delivery: the event's kind and the few fields of it that are used."""

    id: str
    event: str
    fields: Mapping[str, Any]
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """What became of a delivery, in sentences, and the deployments that it asked for (by id)."""

    text: str
    deployments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """How often the forge was asked to deliver a webhook once more, and when last."""

    times: int
    at: datetime


class Deliveries(Protocol):
    def store(self, delivery: Delivery) -> bool:
        """Store a delivery. Return False, and change nothing, when its id was stored before."""

    def get(self, delivery: str) -> Delivery:
        """Return a stored delivery. Raise NotFound."""

    def is_queued(self, delivery: str) -> bool:
        """Tell whether the delivery was put on its event queue."""

    def take_over(self, delivery: str, now: datetime, before: datetime) -> Delivery | None:
        """Take over the queueing of a delivery from who stored it, or took it over, before ``before``; return it.

        One caller gets it, until ``now`` is before the next one's ``before``. Return None when it is queued, or when
        somebody else is queueing it.
        """

    def mark_queued(self, delivery: str) -> None:
        """Remember that the delivery is on its event queue."""

    def unqueued(self, before: datetime) -> Iterable[Delivery]:
        """Return deliveries that were received before ``before`` and never queued (for the reconciler)."""

    def conclude(self, delivery: str, outcome: str, deployments: Sequence[str] = ()) -> None:
        """Remember what became of the delivery, in sentences, and the ids of the deployments that it asked for.

        The last one stands. Raise NotFound.
        """

    def outcome(self, delivery: str) -> DeliveryOutcome | None:
        """Return what became of the delivery, None while it is not done. Raise NotFound."""

    def bind(self, delivery: str, commit: str) -> str:
        """Bind the delivery to a commit, once and for all; return the one that it is bound to. Raise NotFound."""

    def claim(self, turn: str, delivery: str) -> bool:
        """Tell whether ``turn``, of which there is one for all deliveries, is this delivery's: the first to claim it.

        Who has it is remembered for a week.
        """


class WebhookSecrets(Protocol):
    """The secrets that webhooks may be signed with; more than one while they are rotated."""

    def current(self) -> tuple[str, ...]:
        """Return the secrets as read some minutes ago at most; none when none is configured."""

    def refreshed(self) -> tuple[str, ...]:
        """Return the secrets as they are now, or ``current()`` when they were read a moment ago."""


class EventQueue(Protocol):
    def send(self, delivery: Delivery) -> None:
        """Put the delivery on the queue of its kind of event."""


class Redeliveries(Protocol):
    """Which webhooks the forge was asked to deliver once more, by GUID; for a week."""

    def asked(self, guid: str) -> Asked | None:
        """Return how often and when, or None when it was not."""

    def remember(self, guid: str, asked: Asked) -> None:
        """Replace what is remembered."""
