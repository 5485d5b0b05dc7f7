"""*Close the queue if nothing came*: gives up the queue, if nothing can be taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.bootstrap import wiring
from tidegate.messages import CloseWorker
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Parse, call, return the message."""
    return wiring().worker_closer.close(CloseWorker.model_validate(event)).model_dump(mode="json")
