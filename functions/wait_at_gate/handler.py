"""*Wait for what this depends on*, and *Wait for the stacks before this one*: keeps the task token of a gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import WaitAtGate
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().gate_waiter.wait(WaitAtGate.model_validate(event))
