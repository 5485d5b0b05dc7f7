"""Discovery queue: enqueues deployments for pushes, comments, requests and re-runs, which need the repository's files.

Events of pull requests come this way as well: their record is kept, and the machine that looks at their files started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.adapters.batches import take_held
from tidegate.adapters.deliveries import from_message
from tidegate.bootstrap import wiring
from tidegate.settings import PushQueueSettings
from tidegate.telemetry import logger, observed


@observed
def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Receive each event; what the forge puts off comes back when it said, and what the function dies with soon."""
    return take_held(event, context, _receive, _postpone)


def _receive(body: str) -> None:
    delivery = from_message(body)
    outcome = wiring().receive(delivery)
    about = {"delivery": delivery.id, "repository": delivery.fields["repository"], "sha": delivery.fields.get("after")}
    logger.info(delivery.event, extra={**about, "outcome": outcome})


def _postpone(receipt: str, seconds: int) -> None:
    wires = wiring()
    wires.patience.postpone(PushQueueSettings.from_env(wires.environ).push_queue, receipt, seconds)
