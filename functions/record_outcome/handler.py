"""*Record the outcome*: ends the deployment in its queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import RecordOutcome
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().outcome_recorder.record(RecordOutcome.model_validate(event)).model_dump(mode="json")
