"""Notifications, in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from tidegate.notifications.rules.delivery import NotificationDelivery
from tidegate.notifications.rules.destination import Destination
from tidegate.notifications.rules.outgoing import NotDelivered, Outgoing
from tidegate.notifications.rules.slack_account import SlackLink, SlackLinkRequest, SlackUser
from tidegate.notifications.rules.subscription import Subscriptions
from tidegate.rules.errors import CloudUnavailable, Conflict


class MemoryNotifications:
    """The port ``Notifications``."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, Subscriptions] = {}
        self._deliveries: dict[tuple[str, str], NotificationDelivery] = {}
        self._messages: Counter[tuple[str, str, datetime]] = Counter()

    def subscriptions(self, repository: str) -> Subscriptions:
        return self._subscriptions.get(repository, Subscriptions(repository))

    def keep_subscriptions(self, subscriptions: Subscriptions) -> None:
        self._subscriptions[subscriptions.repository] = subscriptions

    def delivery(self, repository: str, identifier: str) -> NotificationDelivery | None:
        return self._deliveries.get((repository, identifier))

    def save(self, delivery: NotificationDelivery) -> NotificationDelivery:
        known = self.delivery(delivery.repository, delivery.id)
        if delivery.version != (known.version if known else 0):
            raise Conflict(f"the notification {delivery.id}")
        saved = replace(delivery, version=delivery.version + 1)
        self._deliveries[delivery.repository, delivery.id] = saved
        return saved

    def count_message(self, repository: str, destination: str, window: datetime) -> int:
        self._messages[repository, destination, window] += 1
        return self._messages[repository, destination, window]

    def deliveries(self, repository: str, limit: int) -> Sequence[NotificationDelivery]:
        found = [each for (of, _), each in self._deliveries.items() if of == repository]
        return sorted(found, key=lambda each: each.id, reverse=True)[:limit]


@dataclass
class MemoryNotificationQueue:
    """The port ``NotificationQueue``: what was queued, in its order."""

    sent: list[tuple[str, str, int, int]] = field(default_factory=list)

    def deliver(self, repository: str, delivery: str, attempt: int, seconds: int = 0) -> None:
        self.sent.append((repository, delivery, attempt, seconds))


@dataclass
class MemoryReceivers:
    """The port ``Receivers``: what arrived. Those in ``failing`` fail, with the seconds that they ask to wait.

    Messages to those in ``answered`` have buttons.
    """

    answered: frozenset[str] = frozenset()
    arrived: list[tuple[str, Outgoing]] = field(default_factory=list)
    failing: Mapping[str, int | None] = field(default_factory=dict)

    def send(self, destination: Destination, message: Outgoing) -> None:
        if destination.name in self.failing:
            raise NotDelivered(destination.name, "HTTP status 503", self.failing[destination.name])
        self.arrived.append((destination.name, message))

    def takes_answers(self, destination: Destination) -> bool:
        return destination.name in self.answered


@dataclass
class MemorySlackApps:
    """The port ``SlackApps``: the apps' signing secrets, and what was replied, each with its URL.

    A secret that is None cannot be read.
    """

    secrets: Mapping[str, str | None] = field(default_factory=dict)
    replies: list[tuple[str, bytes]] = field(default_factory=list)
    is_down: bool = False

    def names(self) -> Sequence[str]:
        return list(self.secrets)

    def signing_secret(self, name: str) -> str:
        found = self.secrets[name]
        if found is None:
            raise CloudUnavailable("Secrets Manager", f"the secret {name} does not exist")
        return found

    def reply(self, url: str, body: bytes) -> None:
        if self.is_down:
            raise NotDelivered("Slack", "no answer")
        self.replies.append((url, body))


class MemorySlackAccounts:
    """The port ``SlackAccounts``."""

    def __init__(self) -> None:
        self._links: dict[SlackUser, SlackLink] = {}
        self._attempts: Counter[SlackLinkRequest] = Counter()

    def link(self, user: SlackUser) -> SlackLink | None:
        return self._links.get(user)

    def links_of(self, login: str) -> Sequence[SlackLink]:
        return [each for each in self._links.values() if each.login.casefold() == login.casefold()]

    def count_attempt(self, request: SlackLinkRequest) -> int:
        self._attempts[request] += 1
        return self._attempts[request]

    def keep(self, link: SlackLink) -> None:
        known = self.link(link.user)
        if known and known.ends >= link.ends:
            raise Conflict("a link to Slack")
        self._links[link.user] = link
