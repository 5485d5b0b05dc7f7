"""*Hold the plan against the policies*: evaluates the policy sets of a temporary layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import CheckPolicies
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().policy_checker.check(CheckPolicies.model_validate(event)).model_dump(mode="json")
