"""Check-run queue (FIFO, group = deployment, layer or pull request): shows on the forge what is newest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tidegate.adapters.batches import take_in_order
from tidegate.bootstrap import wiring
from tidegate.settings import AnnouncementSettings
from tidegate.telemetry import observed


@observed
def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Publish what each message asks for; what the forge puts off comes back when it said."""
    return take_in_order(event, context, _publish, _postpone)


def _publish(body: str) -> None:
    match json.loads(body):
        case {"layer": layer}:
            wiring().progress_shower.layer(layer)
        case {"pull_request": pull_request, "revision": revision, "error": error, "cause": cause}:
            wiring().publication.publish(pull_request, revision, error, cause)
        case {"pull_request": pull_request, "applied": True}:
            wiring().applied_merger.go_on(pull_request)
        case {"pull_request": pull_request, "deployed": True, "not_before": not_before}:
            wiring().deploys_shower.show(pull_request, not_before)
        case {"pull_request": pull_request, "not_before": not_before}:
            wiring().progress_shower.progress(pull_request, not_before)
        case message:
            _publish_deployment(message)


def _publish_deployment(message: Mapping[str, Any]) -> None:
    wiring().check_run_publisher.publish(
        message["deployment"],
        again=message.get("again", False),
        if_new=message.get("if_new", False),
        repeated_by=message.get("repeated_by", ""),
        answer=message.get("answer", ""),
    )


def _postpone(receipt: str, seconds: int) -> None:
    wires = wiring()
    wires.patience.postpone(AnnouncementSettings.from_env(wires.environ).check_run_queue, receipt, seconds)
