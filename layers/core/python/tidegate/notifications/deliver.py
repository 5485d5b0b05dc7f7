"""Deliver a notification: one attempt. After a failure the next one is queued, until the receiver took it, or a day."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, urlencode

from tidegate.messages.queues import DeliverNotification
from tidegate.notifications.rules.delivery import LONGEST_ATTEMPT, DeliveryState, NotificationDelivery, pause_after
from tidegate.notifications.rules.destination import Destination, DestinationKind, may_use
from tidegate.notifications.rules.notice import Notice
from tidegate.notifications.rules.outgoing import NotDelivered, Outgoing
from tidegate.notifications.rules.subscription import NotificationKind
from tidegate.notifications.texts.cloud_event import CONTENT_TYPE, cloud_event
from tidegate.notifications.texts.email import email_message
from tidegate.notifications.texts.slack import slack_message
from tidegate.notifications.texts.teams import teams_message
from tidegate.notifications.texts.words import Said, title
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound
from tidegate.texts.markdown import plain

#: Bytes of a plan's text in a message.
_PLAN_BYTES = 2000
_JSON, _TEXT = "application/json; charset=utf-8", "text/plain; charset=utf-8"


def deliver(ports: Ports, message: DeliverNotification) -> str:
    """Try a delivery. Return what became of it. A message of an attempt that is recorded does nothing."""
    delivery = deciding_again(lambda: _begun(ports, message))
    if delivery is None:
        return "There is nothing to deliver now."
    destination = ports.destinations.get(delivery.destination)
    if destination is None:
        return _refused(ports, delivery, "The installation does not declare this destination.")
    if not may_use(destination.repositories, delivery.repository):
        return _refused(ports, delivery, "The installation does not let this repository use this destination.")
    try:
        ports.receivers.send(destination, _outgoing(ports, destination, delivery))
    except NotDelivered as error:
        return _failed(ports, delivery, error)
    ports.notifications.save(delivery.delivered(ports.clock.now()))
    return "Delivered."


def _begun(ports: Ports, message: DeliverNotification) -> NotificationDelivery | None:
    """Return the delivery, which this attempt alone sends now, and to which nothing is added any more.

    While another attempt is under way, this one comes again later: that one may fail, and be recorded only now.
    """
    delivery = ports.notifications.delivery(message.repository, message.delivery)
    if delivery is None or not delivery.awaits(message.attempt):
        return None
    if delivery.is_under_way(ports.clock.now()):
        pause = int(LONGEST_ATTEMPT.total_seconds())
        ports.notification_queue.deliver(delivery.repository, delivery.id, message.attempt, pause)
        return None
    return ports.notifications.save(delivery.begun(ports.clock.now()))


def _refused(ports: Ports, delivery: NotificationDelivery, why: str) -> str:
    ports.notifications.save(replace(delivery, state=DeliveryState.FAILED, error=why, ended_at=ports.clock.now()))
    return why


def _failed(ports: Ports, delivery: NotificationDelivery, error: NotDelivered) -> str:
    """Record the failure after the next attempt is queued: if this function dies in between, both attempts are made."""
    failed = delivery.failed(error.problem, ports.clock.now())
    if not failed.is_done:
        pause = pause_after(failed.attempts, error.retry_after)
        ports.notification_queue.deliver(delivery.repository, delivery.id, failed.attempts + 1, pause)
    ports.notifications.save(failed)
    return str(error)


def _outgoing(ports: Ports, destination: Destination, delivery: NotificationDelivery) -> Outgoing:
    web, notices, more = ports.web_url, delivery.notices, delivery.more
    alone = len(notices) == 1 and not more
    plan = _plan(ports, notices[0]) if delivery.plan and alone else ""
    answers = bool(web) and destination.kind is DestinationKind.SLACK and ports.receivers.takes_answers(destination)
    said = [Said(each, _page(web, each), plan, decidable=answers and bool(each.review)) for each in notices]
    body, content_type = {
        DestinationKind.WEBHOOK: lambda: (cloud_event(said[0], web or "tidegate"), CONTENT_TYPE),
        DestinationKind.SLACK: lambda: (slack_message(destination.channel, said, more), _JSON),
        DestinationKind.TEAMS: lambda: (teams_message(said, more), _JSON),
        DestinationKind.EMAIL: lambda: (email_message(said, more), _TEXT),
    }[destination.kind]()
    return Outgoing(delivery.id, body, content_type, title(notices, more))


def _page(web: str, notice: Notice) -> str:
    """Return the URL of the page about a notice; empty without pages."""
    if not web:
        return ""
    if notice.deployment:
        return f"{web}/deployments/{quote(notice.deployment, safe='')}"
    if notice.kind is NotificationKind.LOCKED:
        return f"{web}/repositories/{quote(notice.repository)}"
    return f"{web}/drift?{urlencode({'repository': notice.repository})}"


def _plan(ports: Ports, notice: Notice) -> str:
    """Return the beginning of the plan's text, in which sensitive values are masked; empty without one."""
    if not notice.plan_text:
        return ""
    try:
        start = ports.artifacts.get_start(notice.plan_text, _PLAN_BYTES)
    except NotFound:
        return ""
    text = plain(start.content.decode(errors="ignore")).strip()
    return f"{text}\n…" if start.size > len(start.content) else text
