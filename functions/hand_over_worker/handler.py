"""*Hand over to a new execution*: starts the next generation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import HandOverWorker
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return nothing."""
    wiring().worker_handover.hand_over(HandOverWorker.model_validate(event))
    return {}
