"""*Record that …*: how a deployment ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.domain.deployment import State
from tidegate.messages import RecordResult
from tidegate.telemetry import count, observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message; an unknown outcome is counted, as an alarm watches it."""
    recorded = wiring().result_recorder.record(RecordResult.model_validate(event))
    if recorded.state == State.OUTCOME_UNKNOWN:
        count("OutcomeUnknown")
    return recorded.model_dump(mode="json")
