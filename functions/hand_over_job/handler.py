"""*Plan* and *Apply*: leaves the task token to the runner, which answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import HandOverJob
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().job_handover.hand_over(HandOverJob.model_validate(event))
