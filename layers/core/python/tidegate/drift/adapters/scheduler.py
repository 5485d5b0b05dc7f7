"""EventBridge Scheduler: the port ``Schedules``. Each schedule starts an execution of the drift machine.

The execution's input is ``{"repository": OWNER/REPO, "schedule": NAME}``.
"""

from __future__ import annotations

import json
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.config.rules.drift import DriftRecord
from tidegate.roots.rules.root import schedule_name
from tidegate.rules.errors import ScheduleRefused

#: How long, and how often, Scheduler retries a failed start: a late run is better than none.
_OLDEST_SECONDS, _RETRIES = 3600, 10
_GONE = "ResourceNotFoundException"


class SchedulerSchedules:
    """Schedules in one group. ``machine`` is started, under ``role``; failures go to ``undelivered``."""

    def __init__(self, client: Any, group: str, machine: str, role: str, undelivered: str) -> None:
        self._client, self._group = client, group
        self._machine, self._role, self._undelivered = machine, role, undelivered

    def put(self, record: DriftRecord) -> None:
        wanted = self._wanted(record)
        with cloud_errors("EventBridge Scheduler"):
            try:
                self._replace(wanted)
            except ClientError as error:
                if error_code(error) != "ValidationException":
                    raise
                reason = str(error.response["Error"].get("Message", "invalid"))
                raise ScheduleRefused(reason.rstrip(".")) from error

    def remove(self, repository: str, schedule: str) -> None:
        with cloud_errors("EventBridge Scheduler"):
            try:
                self._client.delete_schedule(GroupName=self._group, Name=schedule_name(repository, schedule))
            except ClientError as error:
                if error_code(error) != _GONE:
                    raise

    def _replace(self, wanted: dict[str, Any]) -> None:
        try:
            self._client.update_schedule(**wanted)
        except ClientError as error:
            if error_code(error) != _GONE:
                raise
            self._client.create_schedule(**wanted)

    def _wanted(self, record: DriftRecord) -> dict[str, Any]:
        entry = record.entry
        given = {"repository": record.repository, "schedule": entry.name}
        return {
            "GroupName": self._group,
            "Name": schedule_name(record.repository, entry.name),
            "Description": f"Tidegate drift detection for {record.repository}",
            "ScheduleExpression": entry.timetable.expression,
            "ScheduleExpressionTimezone": entry.timetable.zone,
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "State": "ENABLED",
            "Target": {
                "Arn": self._machine,
                "RoleArn": self._role,
                "Input": json.dumps(given),
                "RetryPolicy": {"MaximumEventAgeInSeconds": _OLDEST_SECONDS, "MaximumRetryAttempts": _RETRIES},
                "DeadLetterConfig": {"Arn": self._undelivered},
            },
        }
