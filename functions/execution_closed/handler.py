"""Step Functions Execution Status Change (FAILED, ABORTED, TIMED_OUT): an execution ended otherwise than by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.settings import WorkflowSettings
from tidegate.telemetry import logger, observed
from tidegate.usecases.queues.execution_closed import ClosedExecution


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Release the queue of a deploy execution. A Terraform execution is caught by the deploy execution above it."""
    wires, detail = wiring(), event["detail"]
    logger.info("execution closed", extra={"execution": detail["name"], "status": detail["status"]})
    if detail["stateMachineArn"] == WorkflowSettings.from_env(wires.environ).deploy_machine:
        wires.queue_releaser.release(read_event(detail))


def read_event(detail: Mapping[str, Any]) -> ClosedExecution:
    """Read the execution's own description: its queue is in its input."""
    return ClosedExecution(json.loads(detail["input"])["queue"], detail["name"], detail["status"])
