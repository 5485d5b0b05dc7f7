"""Notifications: their store, their queue, and their receivers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.notifications.rules.delivery import NotificationDelivery
    from tidegate.notifications.rules.destination import Destination
    from tidegate.notifications.rules.outgoing import Outgoing
    from tidegate.notifications.rules.slack_account import SlackLink, SlackLinkRequest, SlackUser
    from tidegate.notifications.rules.subscription import Subscriptions


class Notifications(Protocol):
    """Who is notified of what, and the deliveries of two weeks. An unwritten delivery has version 0."""

    def subscriptions(self, repository: str) -> Subscriptions:
        """Return the subscriptions of a repository."""

    def keep_subscriptions(self, subscriptions: Subscriptions) -> None:
        """Replace them."""

    def delivery(self, repository: str, identifier: str) -> NotificationDelivery | None:
        """Return a delivery, read consistently."""

    def save(self, delivery: NotificationDelivery) -> NotificationDelivery:
        """Write it if the stored one still has its version; return it with its new one. Raise Conflict."""

    def count_message(self, repository: str, destination: str, window: datetime) -> int:
        """Count a message to a destination in the window that begins then; return how many there were."""

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

    def takes_answers(self, destination: Destination) -> bool:
        """Tell whether people can answer messages to a destination of Slack by buttons. Raise NotDelivered."""


class SlackApps(Protocol):
    """The installation's apps in Slack."""

    def names(self) -> Sequence[str]:
        """Return the names of the apps' secrets."""

    def signing_secret(self, name: str) -> str:
        """Return an app's signing secret, empty if its secret has none. Raise CloudUnavailable."""

    def reply(self, url: str, body: bytes) -> None:
        """Reply to a click, at the URL that it came with. Raise NotDelivered, also for a URL that is not Slack's."""


class SlackAccounts(Protocol):
    """Whom users of Slack act for."""

    def link(self, user: SlackUser) -> SlackLink | None:
        """Return the newest link of a user."""

    def links_of(self, login: str) -> Sequence[SlackLink]:
        """Return the newest links of users of Slack, of those that act as this account."""

    def count_attempt(self, request: SlackLinkRequest) -> int:
        """Count an attempt to type the code of a request, and return how many there were."""

    def keep(self, link: SlackLink) -> None:
        """Replace the link of its user. Raise Conflict if that has come by this request, or by a later one."""
