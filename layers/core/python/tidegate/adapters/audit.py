"""The audit topic (SNS): one message when an apply begins, and one when it ended.

The message is JSON::

    {"version": 1,
     "event_id": "<id>:<state>",            the same message again has the same: deduplicate by it
     "id": "<job id of the apply>",
     "state": "RUNNING" | "SUCCESS" | "FAILURE" | "UNKNOWN",
     "deployment": …, "repository": "owner/name", "root": …, "dir": …, "workspace": …,
     "revision": "<sha>", "branch": …, "trigger": "merge" | "manual",
     "initiating_user": …, "approved_by": … or null, "approved_at": … or null,
     "plan_sha256": "<of the plan file that is applied>", "engine": …, "engine_version": …,
     "started": "<ISO 8601, UTC>", "ended": … or null, "reason": "<why it failed>"}

Attributes to filter subscriptions by: ``state``, ``repository``, ``root``, ``version``. Delivery is at
least once, and ``RUNNING`` always comes before the apply starts: without it there is no apply.
"""

from __future__ import annotations

import json
from typing import Any

from tidegate.adapters.boto import cloud_errors
from tidegate.domain.audit import audit_message
from tidegate.domain.deployment import Deployment
from tidegate.domain.errors import AuditUnavailable, CloudUnavailable

_ATTRIBUTES = ("state", "repository", "root", "version")


class SnsAuditLog:
    """The port ``AuditLog``: ``topic`` is an ARN."""

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic

    def record(self, deployment: Deployment) -> None:
        message = audit_message(deployment)
        attributes = {name: {"DataType": "String", "StringValue": str(message[name])} for name in _ATTRIBUTES}
        try:
            with cloud_errors("SNS"):
                self._client.publish(TopicArn=self._topic, Message=json.dumps(message), MessageAttributes=attributes)
        except CloudUnavailable as error:
            raise AuditUnavailable(str(error)) from error
