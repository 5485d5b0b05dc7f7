"""*Find what is looked at*: stores a temporary layer for each root of a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import DiscoverDrift, DriftDiscovered
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    asked = DiscoverDrift.model_validate(event)
    following, layers = wiring().drift_discoverer.discover(asked.repository, asked.schedule, asked.execution)
    return DriftDiscovered(next=following, layers=layers).model_dump(mode="json")
