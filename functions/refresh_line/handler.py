"""Line queues: brings the check runs of a queue's line up to date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.adapters.batches import take_all
from tidegate.bootstrap import wiring
from tidegate.telemetry import logger, observed


@observed
def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Look at the line of the queue in each message. The messages come one at a time."""
    return take_all(event, context, _refresh, _postpone)


def _refresh(body: str) -> None:
    queue = json.loads(body)["queue"]
    due = wiring().line_refresher.refresh(queue)
    logger.info("looked at the line", extra={"queue": queue, "due": due})


def _postpone(_receipt: str, _seconds: int) -> None:
    """Leave what failed to its queue: the line is looked at again as soon as it moves."""
