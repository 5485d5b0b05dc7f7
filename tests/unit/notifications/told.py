"""A repository whose file says who is told, with destinations of each kind, all in memory."""

from __future__ import annotations

from tests.builders import REPOSITORY
from tests.fakes.ports import memory_ports, port
from tidegate.messages.queues import DeliverNotification, DeploymentChanged
from tidegate.notifications.deliver import deliver
from tidegate.notifications.receive_event import receive_deployment
from tidegate.notifications.rules.destination import destination
from tidegate.notifications.rules.subscription import NotificationKind, Subscription, Subscriptions
from tidegate.rules.timestamp import timestamp_text

DESTINATIONS = {
    name: destination(name, given)
    for name, given in {
        "hooks": {"kind": "webhook", "url": "https://hooks.example/tidegate", "secret": "hooks"},
        "deploys": {"kind": "slack", "channel": "C0DEPLOYS", "secret": "slack"},
        "office": {"kind": "teams", "secret": "teams"},
        "owners": {"kind": "email", "email": "owners@example.com"},
        "others": {"kind": "webhook", "url": "https://hooks.example/x", "secret": "hooks", "repositories": ["other/*"]},
    }.items()
}


#: Those that every repository may use.
OPEN = tuple(name for name, each in DESTINATIONS.items() if not each.repositories)


class Told:
    """Deployments whose events arrive, and deliveries that are tried as they are queued."""

    def __init__(self, *names, on=tuple(NotificationKind), **how):
        settings = {"TIDEGATE_WEB_URL": "https://tidegate.example"}
        self.ports = memory_ports(settings, destinations=DESTINATIONS)
        subscription = Subscription(names or OPEN, on, **how)
        self.notifications.keep_subscriptions(Subscriptions(REPOSITORY, (subscription,)))

    notifications, queue = port("notifications"), port("notification_queue")
    receivers, clock = port("receivers"), port("clock")

    def event(self, deployment, **other):
        """Let the event of a saved deployment arrive; return what became of it."""
        detail = {
            "deployment": deployment.id,
            "repository": deployment.repository,
            "state": deployment.state.value,
            "changed_at": timestamp_text(deployment.changed_at or deployment.request.at),
            "version": 1,
            **other,
        }
        return receive_deployment(self.ports, DeploymentChanged(detail=detail))

    def put(self, deployment):
        """Save a deployment, and let its event arrive."""
        assert self.ports.deployments.add(deployment)
        return self.event(deployment)

    def deliver(self, count=None):
        """Try what is queued, in its order; return the pauses before the attempts."""
        taken = self.queue.sent[:count]
        del self.queue.sent[:count]
        for repository, delivery, attempt, _ in taken:
            deliver(self.ports, DeliverNotification(repository=repository, delivery=delivery, attempt=attempt))
        return [seconds for *_, seconds in taken]

    @property
    def bodies(self):
        """What arrived, by destination and text."""
        return [(name, message.body.decode()) for name, message in self.receivers.arrived]
