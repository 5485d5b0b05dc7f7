"""*Judge the plan by its policies*: decides what a plan needs that was held against policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import JudgePlan
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().held_plan_judge.judge(JudgePlan.model_validate(event)).model_dump(mode="json")
