"""*Wait for its requirements*: keeps the task token of a deployment that is not applied yet, and looks at why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import WaitForRequirements
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().requirements_gate.wait(WaitForRequirements.model_validate(event))
