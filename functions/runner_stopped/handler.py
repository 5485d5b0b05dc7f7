"""ECS Task State Change (STOPPED): the runner of a job has stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.telemetry import observed
from tidegate.usecases.deploys.runner_stopped import StoppedRunner


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse the event and report it."""
    wiring().stopped_runner_reporter.report(read_event(event["detail"]))


def read_event(task: Mapping[str, Any]) -> StoppedRunner:
    """Read the task's own description: the job that it was started for and the token in its environment."""
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
    )
