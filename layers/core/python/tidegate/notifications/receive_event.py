"""Receive events of the bus, and begin the deliveries to whoever is notified of them.

An event that arrives again begins nothing new. The deliveries are stored before they are queued.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.freeze import frozen_tags
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.repository_locks import WHOLE, named
from tidegate.messages.queues import (
    DeploymentChanged,
    DeploymentEvent,
    DriftFound,
    LockEvent,
    QueueLocked,
    ReviewExpiresSoon,
)
from tidegate.notifications.rules.delivery import (
    MESSAGES_SECONDS,
    MOST_MESSAGES,
    DeliveryState,
    NotificationDelivery,
    Placed,
    first_of_window,
    rest_of_flood,
    rest_of_window,
    single,
    window,
)
from tidegate.notifications.rules.notice import KINDS, Notice, details, notice_of
from tidegate.notifications.rules.subscription import NotificationKind, Subscription
from tidegate.ports import Ports
from tidegate.roots.rules.terms import Tagged
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound
from tidegate.rules.shortened import shortened
from tidegate.rules.timestamp import timestamp_from

_NOBODY = "Nobody is notified of it."


def receive_deployment(ports: Ports, message: DeploymentChanged) -> str:
    """Notify of a deployment that changed its state. Return what became of the event."""
    return _about_deployment(ports, message.detail, KINDS.get(message.detail.state))


def receive_expiring(ports: Ports, message: ReviewExpiresSoon) -> str:
    """Notify of a review that expires soon. Return what became of the event."""
    return _about_deployment(ports, message.detail, NotificationKind.REVIEW_EXPIRES_SOON)


def _about_deployment(ports: Ports, event: DeploymentEvent, kind: NotificationKind | None) -> str:
    """Notify of a deployment that is still as the event says. ``kind`` is None if its state is no news."""
    if kind is None or not ports.notifications.subscriptions(event.repository).listed:
        return _NOBODY
    try:
        deployment = ports.deployments.get(event.deployment)
    except NotFound:
        return "The deployment does not exist."
    if deployment.state.value != event.state:
        return f"It is {deployment.state.value} by now."
    notice = notice_of(deployment, kind, timestamp_from(event.changed_at))
    return _notify(ports, notice, [frozen_tags(deployment)])


def receive_lock(ports: Ports, message: QueueLocked) -> str:
    """Notify of a lock. Return what became of the event."""
    event = message.detail
    if not ports.notifications.subscriptions(event.repository).listed:
        return _NOBODY
    known = ports.deployments.many([event.deployment] if event.deployment else [])
    notice = Notice(
        id=f"{event.repository}/locked/{event.root or event.scope}/{event.at}",
        kind=NotificationKind.LOCKED,
        repository=event.repository,
        at=timestamp_from(event.at),
        subject=event.root or named(event.scope),
        group=f"{event.repository}@{event.revision or 'locked'}",
        sha=event.revision,
        branch=next((each.revision.branch for each in known.values()), ""),
        deployment=event.deployment,
        by=event.by,
        reason=shortened(event.reason, MAXIMUM_REASON),
    )
    return _notify(ports, notice, [frozen_tags(each) for each in known.values()] or _locked_tags(event))


def _locked_tags(event: LockEvent) -> list[Tagged]:
    """Return the tags that a lock by hand is about: none for all roots of a repository."""
    if not event.root:
        return [] if event.scope == WHOLE else [Tagged(".", frozenset({f"stack_name:{event.scope}"}))]
    return [_tags(event.root, stack) for stack in event.stacks or (DEFAULT_STACK,)]


def receive_drift(ports: Ports, message: DriftFound) -> str:
    """Notify of a drift schedule's run that found drift. Return what became of the event."""
    event = message.detail
    drifted = [each for each in event.roots if each.state == "drifted"]
    if not drifted:
        return "Nothing drifted."
    lines = [f"{each.root} in {each.stack}" for each in drifted]
    notice = Notice(
        id=f"{event.repository}/drift/{event.schedule}/{event.at}",
        kind=NotificationKind.DRIFT,
        repository=event.repository,
        at=timestamp_from(event.at),
        subject=event.schedule,
        group=f"{event.repository} drift {event.schedule}",
        sha=event.revision,
        branch=event.branch,
        details=details(lines),
    )
    return _notify(ports, notice, [_tags(each.root, each.stack) for each in drifted])


def _tags(root: str, stack: str) -> Tagged:
    return Tagged(".", frozenset({f"name:{root}", f"stack_name:{stack}"}))


def _notify(ports: Ports, notice: Notice, about: Iterable[Tagged]) -> str:
    """Begin, or join, a delivery to each destination that is notified. Return the destinations as a sentence."""
    chosen = ports.notifications.subscriptions(notice.repository).of(notice.kind, about)
    for each in chosen:
        _begin(ports, notice, each)
    names = ", ".join(each.destinations[0] for each in chosen)
    return f"Notified: {names}." if names else _NOBODY


def _begin(ports: Ports, notice: Notice, subscription: Subscription) -> None:
    """Begin or join a delivery, unless this repository floods the people there: then join that of the flood."""
    destination = ports.destinations.get(subscription.destinations[0])
    if destination is None or not destination.digests:
        deciding_again(lambda: _keep(ports, notice, single(notice, subscription)))
    elif not deciding_again(lambda: _limited(ports, notice, subscription)):
        _keep(ports, notice, single(notice, subscription))


def _limited(ports: Ports, notice: Notice, subscription: Subscription) -> bool:
    """Tell whether a delivery of a current window has the notice."""
    now = ports.clock.now()
    if subscription.digest:
        choices = [first_of_window(notice, subscription, now), rest_of_window(notice, subscription, now)]
    else:
        choices = [single(notice, subscription)]
    for placed in choices:
        if not _exists(ports, placed) and _is_flood(ports, placed.delivery, now):
            return _keep(ports, notice, rest_of_flood(notice, subscription, now))
        if _keep(ports, notice, placed):
            return True
    return False


def _exists(ports: Ports, placed: Placed) -> bool:
    return ports.notifications.delivery(placed.delivery.repository, placed.delivery.id) is not None


def _is_flood(ports: Ports, new: NotificationDelivery, now: datetime) -> bool:
    """Count a new message, and tell whether it is one too many."""
    start = window(now, MESSAGES_SECONDS)
    return ports.notifications.count_message(new.repository, new.destination, start) > MOST_MESSAGES


def _keep(ports: Ports, notice: Notice, placed: Placed) -> bool:
    """Store and queue the delivery, or join it while it collects. Return False if it went without the notice."""
    known = ports.notifications.delivery(notice.repository, placed.delivery.id)
    if known is None:
        ports.notifications.save(placed.delivery)
    elif not known.has(notice):
        if known.state is not DeliveryState.COLLECTING:
            return False
        ports.notifications.save(known.joined(notice))
    elif known.is_done:
        return True
    # Also for a known one: the function that began it may have died before it queued it.
    attempt = known.attempts + 1 if known else 1
    ports.notification_queue.deliver(notice.repository, placed.delivery.id, attempt, placed.seconds)
    return True
