"""*Wait for a revision or an unlock*: leaves the task token at the queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import WaitForSignal
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().signal_waiter.wait(WaitForSignal.model_validate(event))
