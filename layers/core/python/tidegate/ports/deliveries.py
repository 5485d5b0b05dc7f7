"""Webhook deliveries: stored, queued, verified, and redelivered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Delivery:
    """A stored webhook delivery: the event's kind and its used fields."""

    id: str
    event: str
    fields: Mapping[str, Any]
    received_at: datetime


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """The result of a delivery, in sentences, and the deployments that it requested (by id)."""

    text: str
    deployments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """How often the forge was asked to deliver a webhook once more, and when last."""

    times: int
    at: datetime


class Deliveries(Protocol):
    def store(self, delivery: Delivery) -> bool:
        """Store a delivery. Return False, and change nothing, if its id was stored before."""

    def get(self, delivery: str) -> Delivery:
        """Return a stored delivery. Raise NotFound."""

    def is_queued(self, delivery: str) -> bool:
        """Tell whether the delivery was put on its event queue."""

    def take_over(self, delivery: str, now: datetime, before: datetime) -> Delivery | None:
        """Take over the queueing of a delivery from who stored it, or took it over, before ``before``; return it.

        One caller gets it, until ``now`` is before the next one's ``before``. Return None if it is queued, or somebody
        else is queueing it.
        """

    def mark_queued(self, delivery: str) -> None:
        """Record that the delivery is on its event queue."""

    def unqueued(self, before: datetime) -> Iterable[Delivery]:
        """Return deliveries that were received before ``before`` and never queued (for the reconciler)."""

    def conclude(self, delivery: str, outcome: str, deployments: Sequence[str] = ()) -> None:
        """Store the delivery's result, in sentences, and the ids of the deployments that it requested.

        The last one counts. Raise NotFound.
        """

    def outcome(self, delivery: str) -> DeliveryOutcome | None:
        """Return the delivery's result, None while it is in progress. Raise NotFound."""

    def bind(self, delivery: str, commit: str) -> str:
        """Bind the delivery to a commit, once; return the bound commit. Raise NotFound."""

    def claim(self, turn: str, delivery: str) -> bool:
        """Tell whether ``turn``, which is unique among all deliveries, belongs to this delivery: the first to claim it.

        Claims are stored for a week.
        """


class WebhookSecrets(Protocol):
    """The secrets with which webhooks may be signed; more than one during a rotation."""

    def current(self) -> tuple[str, ...]:
        """Return the secrets, cached for some minutes; none if none is configured."""

    def refreshed(self) -> tuple[str, ...]:
        """Return the secrets as they are now, or ``current()`` if they were just read."""


class EventQueue(Protocol):
    def send(self, delivery: Delivery) -> None:
        """Put the delivery on the queue of its kind of event."""


class Redeliveries(Protocol):
    """Requested redeliveries of webhooks by GUID; kept for a week."""

    def asked(self, guid: str) -> Asked | None:
        """Return how often and when, or None."""

    def remember(self, guid: str, asked: Asked) -> None:
        """Replace what is stored."""
