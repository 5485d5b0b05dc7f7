"""*Wait for the plan review*: keeps the task token that a button answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import RequestReview
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> None:
    """Parse, call, return nothing: the answer comes through the token."""
    wiring().review_requester.request(RequestReview.model_validate(event))
