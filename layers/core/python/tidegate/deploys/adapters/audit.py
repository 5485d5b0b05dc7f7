"""The audit topic (SNS FIFO): the states of an apply, and who rejected, cancelled, forced, locked or unlocked.

The message is JSON::

    {"version": 1,
     "event_id": "<id>:<state>",            the same event has the same, however often it is published
     "id": "<job id of the apply, or the deployment's id>",
     "state": "RUNNING" | "SUCCESS" | "FAILURE" | "UNKNOWN" | "REJECTED" | "CANCELLED" | "CANCELLING" | "FORCED"
         | "OVERRIDDEN" | "LOCKED" | "UNLOCKED",
     "at": "<ISO 8601, UTC>", "deployment": …, "repository": "owner/name", "root": …, "dir": …, "workspace": …,
     "revision": "<sha>", "branch": …, "trigger": "merge" | "manual" | "rerun", "pull_request": … or null,
     "destroy": true | false,
     "forced": true | false, "initiating_user": …, "approved_by": … or null, "approved_at": … or null,
     "approvals": [{"by": …, "at": …, "reason": …}], "rejected_by": … or null,
     "cancelled_by": … or null,
     "plan_sha256": "<of the plan file that is applied>", "engine": …, "engine_version": …,
     "started": "<ISO 8601, UTC>", "ended": … or null, "reason": "<why it failed, or what the lock said>"}

``LOCKED`` and ``UNLOCKED`` have ``locked_by`` and ``locked_at`` instead of the fields about an apply. Attributes to
filter subscriptions by: ``state``, ``repository``, ``root``, ``version``.

Messages of one deployment are delivered in order (its id is the message group; a queue's locks and unlocks have their
own group). A repeated event has the same deduplication id, so SNS delivers it once within five minutes; after that,
``event_id`` identifies duplicates. ``RUNNING`` is published before the apply starts, every other state before it is
visible anywhere else.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate.aws.boto import cloud_errors
from tidegate.deploys.rules.audit import AuditMessage
from tidegate.rules.errors import AuditUnavailable, CloudUnavailable

_ATTRIBUTES = ("state", "repository", "root", "version")


class SnsAuditLog:
    """The port ``AuditLog``: ``topic`` is the ARN of a FIFO topic."""

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic

    def publish(self, message: AuditMessage) -> None:
        attributes = {name: {"DataType": "String", "StringValue": str(message.body[name])} for name in _ATTRIBUTES}
        try:
            with cloud_errors("SNS"):
                self._client.publish(
                    TopicArn=self._topic,
                    Message=json.dumps(dict(message.body)),
                    MessageAttributes=attributes,
                    MessageGroupId=message.group,
                    MessageDeduplicationId=message.event,
                )
        except CloudUnavailable as error:
            raise AuditUnavailable(str(error)) from error
