"""Parse external events: buttons, and AWS's events of executions, tasks and calls."""

# ruff: noqa: PLC0415  # Imports stay with what needs them: a function imports only what it uses.

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tidegate.rules.errors import NotItsJob

if TYPE_CHECKING:
    from tidegate.deploys.queue.execution_closed import ClosedExecution
    from tidegate.deploys.rules.plan_runner import Limit
    from tidegate.jobs.runner_stopped import StoppedRunner
    from tidegate.messages.clusters import OfCluster
    from tidegate.ports import Delivery
    from tidegate.requests.answer_button import ButtonClick

Event = Mapping[str, Any]
#: The exit code of what was killed by SIGKILL.
_KILLED = 137


def read_click(delivery: Delivery) -> ButtonClick:
    """Parse a delivery of a check run's ``requested_action``."""
    from tidegate.requests.answer_button import ButtonClick

    fields = delivery.fields
    return ButtonClick(
        repository=fields["repository"],
        check_run=fields["id"],
        name=fields["name"],
        sha=fields["head_sha"],
        external_id=fields["external_id"],
        identifier=fields["identifier"],
        by=fields["sender"],
        at=delivery.received_at,
    )


def read_execution(detail: Event) -> ClosedExecution:
    """Parse an execution's description: its queue is in its input."""
    from tidegate.deploys.queue.execution_closed import ClosedExecution

    return ClosedExecution(json.loads(detail["input"])["queue"], detail["name"], detail["status"])


def read_update_execution(detail: Event) -> tuple[str, str, str]:
    """Parse the description of a config repository's worker: the repository, the execution's name, and its status."""
    return json.loads(detail["input"])["repository"], detail["name"], detail["status"]


def read_cluster_execution(detail: Event) -> tuple[OfCluster, str, str]:
    """Parse the description of a machine of clusters: its workflow, the execution's name, and its status.

    What handles errors has the workflow's execution in its input; a workflow is itself.
    """
    from tidegate.messages.clusters import OfCluster

    given, name = json.loads(detail["input"]), detail["name"]
    workflow = OfCluster(deployment=given["deployment"], execution=given.get("execution", name))
    return workflow, name, detail["status"]


def read_runner(task: Event) -> StoppedRunner:
    """Parse a task's description: its job and the token in its environment."""
    from tidegate.jobs.runner_stopped import StoppedRunner

    overrides = task.get("overrides", {}).get("containerOverrides", [])
    environment = {entry["name"]: entry["value"] for override in overrides for entry in override.get("environment", [])}
    containers = [container.get("reason") for container in task.get("containers", [])]
    exits = [
        f"exit code {container['exitCode']}" for container in task.get("containers", []) if "exitCode" in container
    ]
    reasons = [task.get("stoppedReason"), *containers, *exits]
    return StoppedRunner(
        task=task["taskArn"],
        job=environment.get("TIDEGATE_JOB", ""),
        start_token=environment.get("TIDEGATE_START_TOKEN"),
        reason="; ".join(reason for reason in reasons if reason) or "The task stopped without a reason.",
        out_of_memory=_is_out_of_memory(task),
    )


def _is_out_of_memory(task: Event) -> bool:
    """Tell whether the kernel killed the container, or the program in it: nothing else ends it so by itself.

    ECS says ``OutOfMemoryError: Container killed due to memory usage`` of its main process, the runner's supervisor,
    and sees an exit code of a child of that (ECS developer guide, "Stopped tasks error messages").
    """
    by_itself = task.get("stopCode") == "EssentialContainerExited"
    return any(
        (container.get("reason") or "").startswith("OutOfMemoryError")
        or (by_itself and container.get("exitCode") == _KILLED)
        for container in task.get("containers", [])
    )


def read_call(record: Event) -> tuple[StoppedRunner, str]:
    """Parse the record of a failed asynchronous call (AWS Lambda, Capturing records of invocations).

    Return the runner, and the digest of its job. Raise NotItsJob for anything else.
    """
    from tidegate.deploys.rules.plan_runner import lambda_runner
    from tidegate.jobs.runner_stopped import StoppedRunner

    match record:
        case {
            "requestContext": {"requestId": str(request), "condition": str(condition)},
            "requestPayload": {"job": str(job), "digest": str(digest), "token": str(token)},
        }:
            said = record.get("responsePayload")
            said = said if isinstance(said, Mapping) else {}
            what = str(said.get("errorMessage") or condition)
            limit = _limit(str(said.get("errorType", "")), what)
            return StoppedRunner(lambda_runner(request), job, token, f"Lambda: {what}", limit=limit), digest
    raise NotItsJob("")


def _limit(kind: str, message: str) -> Limit | None:
    """Return the limit that ended a function: out of memory shows as a kill, or in the message."""
    from tidegate.deploys.rules.plan_runner import Limit

    if kind == "Runtime.OutOfMemory" or "signal: killed" in message:
        return Limit.MEMORY
    return Limit.TIME if kind == "Sandbox.Timedout" or "timed out" in message else None
