"""Schedule, every five minutes: repairs what events missed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.telemetry import observed


@observed
def lambda_handler(_event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Repair, and say how much there was to repair."""
    return asdict(wiring().reconciler.reconcile())
