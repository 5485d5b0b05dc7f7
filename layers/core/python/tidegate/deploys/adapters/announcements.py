"""Telling others that a deployment changed: the check-run queue (SQS FIFO) and the event bus (EventBridge).

An event has the source ``tidegate``, the detail type ``Deployment changed`` and this detail::

    {"version": 1, "deployment": …, "repository": …, "root": …, "revision": …, "branch": …, "trigger": …,
     "requested_by": …, "state": …, "reason": …, "changed_at": …, "apply_job": …,
     "changes": {"add": 1, "change": 0, "destroy": 0, "replace": 0, "outputs": 0, "moved": 0,
     "actions": 0, "deferred": 0} or null}

A message of the check-run queue is ``{"deployment": …, "again": …}``; with ``"if_new": true`` what looks
as before costs no call, with ``"repeated_by": …`` another deployment runs this one again, and ``"answer": …``
says why what somebody asked for had no effect. Its group is the deployment, so that its check run is brought up to
date by one at a time and in order.

Of pull requests it takes ``{"layer": …}`` for the check run of a layer that has ended (the group is the layer). In the
group of the pull request are ``{"pull_request": …, "not_before": …}`` for how far its plans are, of which there is one
every two seconds (it is taken up once these are over, so it sees each change that asked for it), and
``{"pull_request": …, "revision": …, "error": …, "cause": …}`` for all that is known of a revision, and
``{"pull_request": …, "applied": true}`` for what follows once something of it was applied, and
``{"pull_request": …, "deployed": true, "not_before": …}``, one every ten seconds, for what became of its merge.

A message of the two line queues is ``{"queue": …}``. The first is FIFO with a delay of two seconds, and
what is sent about one queue within a second is one message there: whoever takes it up reads the line
after that second is over, so it sees each change that asked for it. The other holds back what is not due yet.

A message of the change queue is ``{"change_set": …}``. It is FIFO, and its group is the change set, so that one at a
time looks at the gates of a change. With ``{"slots": "freed"}`` it asks for free concurrency slots to be handed on, by
one at a time as well.

A check run must be brought up to date: what cannot be sent is raised. The bus is for others, so a bus
that takes no events after several tries holds up no deploy: the loss is logged.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from tidegate.aws.boto import cloud_errors
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.rules.errors import CloudUnavailable

SOURCE = "tidegate"
DETAIL_TYPE = "Deployment changed"
#: Version of the event's shape: raised when a field changes its meaning or goes.
EVENT_VERSION = 1
#: Times that an event is offered to a bus that answers, but does not take it. What does not
#: answer, boto tries several times by itself.
_OFFERS = 3
#: Seconds between two looks at how far the plans of a pull request are.
PROGRESS = 2
#: Seconds between two looks at what became of a merged pull request's roots.
DEPLOYS = 10
_COUNTS = ("add", "change", "destroy", "replace", "outputs", "moved", "actions", "deferred")

logger = Logger(service="tidegate", child=True)


@dataclass(frozen=True, slots=True)
class Channels:
    """Where announcements go: the URLs of the queues, the bus's name. What a function does not use may be empty."""

    check_run_queue: str
    bus: str
    line_queue: str = ""
    later_queue: str = ""
    change_queue: str = ""


class AwsAnnouncements:
    """The port ``Announcements``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, sqs: Any, events: Any, channels: Channels, now: Callable[[], float] = time.time) -> None:
        self._sqs = sqs
        self._events = events
        self._channels = channels
        self._now = now

    def changed(self, deployment: Deployment) -> None:
        """Announce a saved deployment. The same version again within five minutes is one message.

        Raise CloudUnavailable when the check-run queue does not take it. A bus that does not is logged only.
        """
        message = {"deployment": deployment.id, "again": False}
        self._ask(message, deduplication=f"{deployment.id}-{deployment.version}")
        try:
            self._publish(deployment)
        except CloudUnavailable as error:
            about = {"deployment": deployment.id, "state": deployment.state.value, "refusal": str(error)}
            logger.warning("the event bus did not take an event", extra=about)

    def refresh(self, deployment: str) -> None:
        self._ask({"deployment": deployment, "again": True}, deduplication=uuid.uuid4().hex)

    def place_changed(self, deployment: str) -> None:
        self._ask({"deployment": deployment, "again": True, "if_new": True}, deduplication=uuid.uuid4().hex)

    def repeated(self, deployment: str, by: str) -> None:
        message = {"deployment": deployment, "again": True, "repeated_by": by}
        self._ask(message, deduplication=uuid.uuid4().hex)

    def answered(self, deployment: str, why: str) -> None:
        self._ask({"deployment": deployment, "again": True, "answer": why}, deduplication=uuid.uuid4().hex)

    def line_changed(self, queue: str) -> None:
        group = _digest(queue)
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.line_queue,
                MessageBody=json.dumps({"queue": queue}),
                MessageGroupId=group,
                MessageDeduplicationId=f"{group}-{int(self._now())}",
            )

    def line_later(self, queue: str, seconds: int) -> None:
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.later_queue, MessageBody=json.dumps({"queue": queue}), DelaySeconds=seconds
            )

    def change_moved(self, change_set: str) -> None:
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.change_queue,
                MessageBody=json.dumps({"change_set": change_set}),
                MessageGroupId=_digest(change_set),
                MessageDeduplicationId=uuid.uuid4().hex,
            )

    def slots_freed(self) -> None:
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.change_queue,
                MessageBody=json.dumps({"slots": "freed"}),
                MessageGroupId="slots",
                MessageDeduplicationId=uuid.uuid4().hex,
            )

    def layer_changed(self, layer: TemporaryLayer) -> None:
        if layer.is_done:
            self._send({"layer": layer.id}, layer.id, uuid.uuid4().hex)
        pull_request = f"{layer.repository}#{layer.pull_request}"
        group, again = _digest(pull_request), (int(self._now()) // PROGRESS + 1) * PROGRESS
        self._send({"pull_request": pull_request, "not_before": again}, group, f"{group}-{again}")

    def pull_request_ended(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> None:
        message = {"pull_request": pull_request, "revision": revision, "error": error, "cause": cause}
        self._send(message, _digest(pull_request), uuid.uuid4().hex)

    def pull_request_applied(self, pull_request: str) -> None:
        self._send({"pull_request": pull_request, "applied": True}, _digest(pull_request), uuid.uuid4().hex)

    def pull_request_deployed(self, pull_request: str) -> None:
        group, at = _digest(pull_request), (int(self._now()) // DEPLOYS + 1) * DEPLOYS
        self._send({"pull_request": pull_request, "deployed": True, "not_before": at}, group, f"{group}-deployed-{at}")

    def _ask(self, message: dict[str, Any], deduplication: str) -> None:
        self._send(message, message["deployment"], deduplication)

    def _send(self, message: Mapping[str, Any], group: str, deduplication: str) -> None:
        """Put a message into the check-run queue."""
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.check_run_queue,
                MessageBody=json.dumps(message),
                MessageGroupId=group,
                MessageDeduplicationId=deduplication,
            )

    def _publish(self, deployment: Deployment) -> None:
        entry = {
            "EventBusName": self._channels.bus,
            "Source": SOURCE,
            "DetailType": DETAIL_TYPE,
            "Detail": json.dumps(_detail(deployment)),
        }
        with cloud_errors("EventBridge"):
            for _ in range(_OFFERS):
                answer = self._events.put_events(Entries=[entry])
                if not answer.get("FailedEntryCount"):
                    return
        raise CloudUnavailable("EventBridge", str(answer["Entries"][0].get("ErrorCode")))


def _digest(text: str) -> str:
    """Return a group's name: legal, whatever the text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _detail(deployment: Deployment) -> dict[str, Any]:
    changes = deployment.plan.changes if deployment.plan else None
    return {
        "version": EVENT_VERSION,
        "deployment": deployment.id,
        "repository": deployment.repository,
        "root": deployment.root.name,
        "revision": deployment.revision.sha,
        "branch": deployment.revision.branch,
        "trigger": deployment.trigger.value,
        "requested_by": deployment.requested_by,
        "state": deployment.state.value,
        "reason": deployment.reason,
        "changed_at": deployment.changed_at,
        "apply_job": deployment.apply_job,
        "changes": {name: getattr(changes, name) for name in _COUNTS} if changes else None,
    }
