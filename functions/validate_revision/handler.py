"""*Compare with the revision deployed last*: refuses what would go backwards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import ValidateRevision
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().revision_validator.validate(ValidateRevision.model_validate(event)).model_dump(mode="json")
