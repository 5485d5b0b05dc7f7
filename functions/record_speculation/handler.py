"""*Record the plan* of a temporary layer, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import RecordSpeculation
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().speculation_recorder.record(RecordSpeculation.model_validate(event)).model_dump(mode="json")
