"""*Begin the plan* and *Begin the apply*: creates the job that a runner takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import BeginJob
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().job_beginner.begin(BeginJob.model_validate(event)).model_dump(mode="json")
