"""Store who is notified of what when the default branch's configuration changes. A repeated call is harmless."""

from __future__ import annotations

from tidegate.notifications.rules.subscription import Subscription, Subscriptions
from tidegate.ports import KnownRepository, Ports


def keep_subscriptions(ports: Ports, known: KnownRepository, listed: tuple[Subscription, ...]) -> None:
    """Store the subscriptions of a commit's configuration, unless a newer commit is known."""
    stored = ports.notifications.subscriptions(known.name)
    if stored.listed != listed and ports.repository_index.repository(known.name).seen == known.seen:
        ports.notifications.keep_subscriptions(Subscriptions(known.name, listed))
