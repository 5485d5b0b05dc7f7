"""*Wait for a free place*: keeps the task token of a plan that has to wait for others of its repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import WaitForPlace
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().place_waiter.wait(WaitForPlace.model_validate(event))
