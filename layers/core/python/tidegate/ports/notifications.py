"""Notifications: their store, their queue, and their receivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.notifications.rules.delivery import NotificationDelivery
    from tidegate.notifications.rules.destination import Destination
    from tidegate.notifications.rules.outgoing import Outgoing
    from tidegate.notifications.rules.subscription import Subscriptions


class Notifications(Protocol):
    """Who is told of what, and the deliveries of two weeks. An unwritten delivery has version 0."""

    def subscriptions(self, repository: str) -> Subscriptions:
        """Return the subscriptions of a repository."""

    def keep_subscriptions(self, subscriptions: Subscriptions) -> None:
        """Replace them."""

    def delivery(self, repository: str, identifier: str) -> NotificationDelivery | None:
        """Return a delivery, read consistently."""

    def save(self, delivery: NotificationDelivery) -> NotificationDelivery:
        """Write it if the stored one still has its version; return it with its new one. Raise Conflict."""

    def deliveries(self, repository: str, limit: int) -> Sequence[NotificationDelivery]:
        """Return the newest deliveries of a repository, newest first, ``limit`` at most."""


class NotificationQueue(Protocol):
    """Queues attempts of deliveries. Raises CloudUnavailable."""

    def deliver(self, repository: str, delivery: str, attempt: int, seconds: int = 0) -> None:
        """Queue the ``attempt``-th attempt of a delivery in so many seconds, 900 at most."""


class Receivers(Protocol):
    """The receivers behind destinations."""

    def send(self, destination: Destination, message: Outgoing) -> None:
        """Send a message. Raise NotDelivered."""
