"""ECS: the port ``Runners``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

from tidegate.aws.boto import cloud_errors, error_code
from tidegate.deploys.rules.runner_task import RunnerTask
from tidegate.rules.timestamp import timestamp_from

#: Errors of ECS for an unknown task: an hour after its end, or for an ARN that names none.
_GONE = "InvalidParameterException"
_SERVICE = "ECS"
_ARN = "arn:"
_JOB = "TIDEGATE_JOB"


class EcsRunners:
    """The tasks of one cluster (its ARN)."""

    def __init__(self, client: Any, cluster: str) -> None:
        self._client, self._cluster = client, cluster

    def running(self) -> Sequence[RunnerTask]:
        found: list[RunnerTask] = []
        with cloud_errors(_SERVICE):
            for page in self._client.get_paginator("list_tasks").paginate(cluster=self._cluster):
                if arns := page["taskArns"]:
                    described = self._client.describe_tasks(cluster=self._cluster, tasks=arns)
                    found += [_task(task) for task in described["tasks"] if _job(task)]
        return found

    def stop(self, task: str, reason: str) -> None:
        if not task.startswith(_ARN):
            return  # A runner on Lambda has no task: its next heartbeat tells it to stop.
        with cloud_errors(_SERVICE):
            try:
                self._client.stop_task(cluster=self._cluster, task=task, reason=reason[:1024])
            except ClientError as error:
                if error_code(error) != _GONE:
                    raise


def _task(task: Mapping[str, Any]) -> RunnerTask:
    made = timestamp_from(task["createdAt"])
    return RunnerTask(task["taskArn"], _job(task), made)


def _job(task: Mapping[str, Any]) -> str:
    """Return the job of a task, empty if something else started the task."""
    overrides = task.get("overrides", {}).get("containerOverrides", [])
    values = (entry["value"] for each in overrides for entry in each.get("environment", []) if entry["name"] == _JOB)
    return next(values, "")
