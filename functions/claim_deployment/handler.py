"""*Claim the next deployment*: takes the first in line, or says what else to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import ClaimDeployment
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().deployment_claimer.claim(ClaimDeployment.model_validate(event)).model_dump(mode="json")
