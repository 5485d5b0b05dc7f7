"""*Record the plan*: stores it and decides what it needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import RecordPlan
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().plan_recorder.record(RecordPlan.model_validate(event)).model_dump(mode="json")
