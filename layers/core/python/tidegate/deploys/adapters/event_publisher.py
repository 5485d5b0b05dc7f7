"""Publish changes of deployments: to the check-run queue (SQS FIFO) and the event bus (EventBridge).

An event has the source ``tidegate``, the detail type ``Deployment changed`` or ``Review expires soon``, and this
detail::

    {"version": 1, "deployment": …, "repository": …, "root": …, "revision": …, "branch": …, "trigger": …,
     "requested_by": …, "state": …, "reason": …, "changed_at": …, "apply_job": …,
     "changes": {"add": 1, "change": 0, "destroy": 0, "replace": 0, "outputs": 0, "moved": 0,
     "actions": 0, "deferred": 0} or null}

An event with the detail type ``Queue locked`` has this one; ``root`` is empty for the lock of a scope::

    {"version": 1, "repository": …, "root": …, "scope": …, "stacks": […], "by": …, "reason": …, "at": …,
     "deployment": …, "revision": …}

``tidegate.messages.queues`` has the queues' messages. Their message groups and deduplication:

- Each deployment's check run, each layer's, and each pull request has its own group, so updates run one by one and in
  order. A pull request's progress has one message every two seconds; its deploys, and the progress of a cluster's
  workflow, one every ten. The message is delayed until the end of that period, so it covers each change that requested
  it.
- The position queue has a delay of two seconds. Messages about one deploy queue within one second are duplicates: the
  receiver reads the deploy queue after that second, so it sees each change. The second position queue, which is not
  FIFO, delays updates that are not due yet.
- The group of the change queue is the change set, so the gates of a change are checked one by one. So are slots.

A failure to send a check-run update is raised. The event bus serves other systems: if it accepts no events after
several tries, the loss is logged and the deploy continues.
"""

from __future__ import annotations

import hashlib
import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools import Logger

from tidegate.aws.boto import cloud_errors
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.messages.queues import (
    FollowApply,
    FollowStacks,
    FollowUpdate,
    GiveSlots,
    OfPullRequest,
    OpenGates,
    PublishDeployment,
    PublishDeploys,
    PublishEntry,
    PublishLayer,
    PublishProgress,
    PublishRevision,
    Queued,
    RefreshPositions,
)
from tidegate.rules.errors import CloudUnavailable
from tidegate.rules.timestamp import timestamp_text

SOURCE = "tidegate"
DETAIL_TYPE, EXPIRES_SOON, LOCKED = "Deployment changed", "Review expires soon", "Queue locked"
#: Version of the event's format: increased when a field changes its meaning or is removed.
EVENT_VERSION = 1
#: Attempts when the bus answers without accepting an event. boto itself retries when the bus does not answer.
_OFFERS = 3
#: Seconds between two updates of a pull request's plan progress.
PROGRESS = 2
#: Seconds between two updates of a merged pull request's deploys, and of the progress of a cluster's workflow.
DEPLOYS = 10

logger = Logger(service="tidegate", child=True)


@dataclass(frozen=True, slots=True)
class Channels:
    """Destinations of published changes: the queues' URLs and the bus's name. Those that a function does not use may be
    empty.
    """

    check_run_queue: str
    bus: str
    positions_queue: str = ""
    later_queue: str = ""
    change_queue: str = ""


class AwsEventPublisher:
    """The port ``EventPublisher``. ``now`` gives the time in seconds since 1970."""

    def __init__(self, sqs: Any, events: Any, channels: Channels, now: Callable[[], float] = time.time) -> None:
        self._sqs = sqs
        self._events = events
        self._channels = channels
        self._now = now

    def changed(self, deployment: Deployment) -> None:
        """Publish a saved deployment. The same version again within five minutes is one message.

        Raise CloudUnavailable if the check-run queue does not accept it. A failure of the bus is only logged.
        """
        self._show(PublishDeployment(deployment=deployment.id), f"{deployment.id}-{deployment.version}")
        about = {"deployment": deployment.id, "state": deployment.state.value}
        self._publish(DETAIL_TYPE, _detail(deployment), about)

    def review_expires_soon(self, deployment: Deployment) -> None:
        self._publish(EXPIRES_SOON, _detail(deployment), {"deployment": deployment.id})

    def locked(self, repository: str, root: str, lock: Lock, stacks: Sequence[str] = ()) -> None:
        detail = {
            "version": EVENT_VERSION,
            "repository": repository,
            "root": root,
            "scope": lock.scope,
            "stacks": list(stacks),
            "by": lock.by,
            "reason": lock.reason,
            "at": timestamp_text(lock.at),
            "deployment": lock.deployment,
            "revision": lock.revision,
        }
        self._publish(LOCKED, detail, {"repository": repository, "root": root})

    def refresh(self, deployment: str) -> None:
        self._show(PublishDeployment(deployment=deployment, again=True))

    def position_changed(self, deployment: str) -> None:
        self._show(PublishDeployment(deployment=deployment, again=True, if_new=True))

    def progress_changed(self, deployment: str) -> None:
        at = (int(self._now()) // DEPLOYS + 1) * DEPLOYS
        message = PublishDeployment(deployment=deployment, again=True, if_new=True, not_before=at)
        self._show(message, f"{deployment}-progress-{at}")

    def repeated(self, deployment: str, by: str) -> None:
        self._show(PublishDeployment(deployment=deployment, again=True, repeated_by=by))

    def answered(self, deployment: str, why: str) -> None:
        self._show(PublishDeployment(deployment=deployment, again=True, answer=why))

    def queue_changed(self, queue: str) -> None:
        group = _digest(queue)
        once = f"{group}-{int(self._now())}"
        self._send(self._channels.positions_queue, RefreshPositions(queue=queue), group, once)

    def queue_changed_later(self, queue: str, seconds: int) -> None:
        message = RefreshPositions(queue=queue)
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=self._channels.later_queue, MessageBody=message.body(), DelaySeconds=seconds
            )

    def change_moved(self, change_set: str) -> None:
        self._send(self._channels.change_queue, OpenGates(change_set=change_set), _digest(change_set))

    def stacks_moved(self, repository: str) -> None:
        self._send(self._channels.change_queue, FollowStacks(repository=repository), _digest(repository))

    def slots_freed(self) -> None:
        self._send(self._channels.change_queue, GiveSlots(), "slots")

    def layer_changed(self, layer: SpeculativePlan) -> None:
        if layer.is_done:
            self._send(self._channels.check_run_queue, PublishLayer(layer=layer.id), layer.id)
        pull_request = f"{layer.repository}#{layer.pull_request}"
        again = (int(self._now()) // PROGRESS + 1) * PROGRESS
        message = PublishProgress(pull_request=pull_request, not_before=again)
        self._show_pull_request(message, f"{_digest(pull_request)}-{again}")

    def pull_request_ended(self, pull_request: str, revision: str, error: str = "", cause: str = "") -> None:
        message = PublishRevision(pull_request=pull_request, revision=revision, error=error, cause=cause)
        self._show_pull_request(message)

    def pull_request_applied(self, pull_request: str) -> None:
        self._show_pull_request(FollowApply(pull_request=pull_request))

    def pull_request_deployed(self, pull_request: str) -> None:
        at = (int(self._now()) // DEPLOYS + 1) * DEPLOYS
        message = PublishDeploys(pull_request=pull_request, not_before=at)
        self._show_pull_request(message, f"{_digest(pull_request)}-deployed-{at}")

    def entry_changed(self, repository: str, entry: str) -> None:
        group = _digest(repository)
        self._send(self._channels.check_run_queue, PublishEntry(repository=repository, entry=entry), group)
        self._send(self._channels.change_queue, FollowUpdate(repository=repository, entry=entry), group)

    def entry_refused(self, repository: str, entry: str, notice: str) -> None:
        message = PublishEntry(repository=repository, entry=entry, notice=notice)
        self._send(self._channels.check_run_queue, message, _digest(repository))

    def _show(self, message: PublishDeployment, once: str = "") -> None:
        self._send(self._channels.check_run_queue, message, message.deployment, once)

    def _show_pull_request(self, message: OfPullRequest, once: str = "") -> None:
        self._send(self._channels.check_run_queue, message, _digest(message.pull_request), once)

    def _send(self, queue: str, message: Queued, group: str, once: str = "") -> None:
        """Put a message into a FIFO queue. ``once`` is its deduplication id for five minutes."""
        with cloud_errors("SQS"):
            self._sqs.send_message(
                QueueUrl=queue,
                MessageBody=message.body(),
                MessageGroupId=group,
                MessageDeduplicationId=once or uuid.uuid4().hex,
            )

    def _publish(self, detail_type: str, detail: Mapping[str, Any], about: Mapping[str, str]) -> None:
        """Put an event on the bus; if that fails, log what it was about."""
        entry = {
            "EventBusName": self._channels.bus,
            "Source": SOURCE,
            "DetailType": detail_type,
            "Detail": json.dumps(detail),
        }
        try:
            self._offer(entry)
        except CloudUnavailable as error:
            logger.warning("EventBridge rejected an event", extra={**about, "refusal": str(error)})

    def _offer(self, entry: Mapping[str, str]) -> None:
        with cloud_errors("EventBridge"):
            for _ in range(_OFFERS):
                answer = self._events.put_events(Entries=[entry])
                if not answer.get("FailedEntryCount"):
                    return
        raise CloudUnavailable("EventBridge", str(answer["Entries"][0].get("ErrorCode")))


def _digest(text: str) -> str:
    """Return a valid message-group name for any text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _detail(deployment: Deployment) -> dict[str, Any]:
    changes = deployment.planned.plan.changes if deployment.planned.plan else None
    return {
        "version": EVENT_VERSION,
        "deployment": deployment.id,
        "repository": deployment.repository,
        "root": deployment.root.name,
        "revision": deployment.revision.sha,
        "branch": deployment.revision.branch,
        "trigger": deployment.request.trigger.value,
        "requested_by": deployment.request.by,
        "state": deployment.state.value,
        "reason": deployment.reason,
        "changed_at": timestamp_text(deployment.changed_at) if deployment.changed_at else "",
        "apply_job": deployment.apply.job,
        "changes": changes.counts if changes else None,
    }
