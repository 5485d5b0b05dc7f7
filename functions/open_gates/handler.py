"""Change queue: looks at the gates of changes of which a deployment ended, or was blocked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.adapters.batches import take_in_order
from tidegate.bootstrap import wiring
from tidegate.settings import AnnouncementSettings
from tidegate.telemetry import logger, observed


@observed
def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Look once at the gates of each change that messages name: whoever sent one had saved what it is about."""
    seen: set[str] = set()

    def take(body: str) -> None:
        change_set = json.loads(body)["change_set"]
        if change_set not in seen:
            _open(change_set)
            seen.add(change_set)

    return take_in_order(event, context, take, _postpone)


def _open(change_set: str) -> None:
    changed = wiring().gate_opener.open(change_set)
    logger.info("looked at gates", extra={"change_set": change_set, "changed": changed})


def _postpone(receipt: str, seconds: int) -> None:
    wires = wiring()
    wires.patience.postpone(AnnouncementSettings.from_env(wires.environ).change_queue, receipt, seconds)
