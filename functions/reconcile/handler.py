"""Schedule, every five minutes: repairs what events missed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.telemetry import logger, observed


@observed
def lambda_handler(_event: Mapping[str, Any], _context: object) -> dict[str, int]:
    """Repair, and say how much each repair had to do. Raise ExceptionGroup in the end for what could not be done."""
    done = wiring().reconciler.reconcile()
    if done.failures:
        logger.warning("some repairs failed", extra={"repaired": done.repaired})
        raise ExceptionGroup("What could not be repaired is tried again by the next run.", done.failures)
    return done.repaired
