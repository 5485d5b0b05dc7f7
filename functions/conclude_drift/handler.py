"""*Keep and show what was found*: ends a run that looked for drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import ConcludeDrift, DriftConcluded
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    asked = ConcludeDrift.model_validate(event)
    run, concluder = (asked.repository, asked.schedule, asked.execution), wiring().drift_concluder
    summary = concluder.fail(*run, asked.error, asked.cause or "") if asked.error else concluder.conclude(*run)
    return DriftConcluded(summary=summary).model_dump(mode="json")
