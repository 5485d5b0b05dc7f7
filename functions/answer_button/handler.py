"""Press queue: answers presses of the buttons on check runs, and decides by comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegate.adapters.batches import take_all
from tidegate.adapters.deliveries import from_message
from tidegate.bootstrap import wiring
from tidegate.ports import Delivery
from tidegate.settings import PressQueueSettings
from tidegate.telemetry import logger, observed
from tidegate.usecases.comments.hand_over_comment import DECISION
from tidegate.usecases.presses.answer_button import Press


@observed
def lambda_handler(event: Mapping[str, Any], context: object) -> Any:
    """Answer each press; what the forge puts off comes back when it said."""
    return take_all(event, context, _answer, _postpone)


def _answer(body: str) -> None:
    delivery = from_message(body)
    if delivery.event == DECISION:
        outcome = wiring().comment_decider.receive(delivery)
        logger.info("carried out", extra={"delivery": delivery.id, "by": delivery.fields["sender"], "outcome": outcome})
        return
    press = read_press(delivery)
    answer = wiring().button_answerer.answer(press)
    logger.info("pressed", extra={"deployment": press.external_id, "by": press.by, "answer": answer})


def read_press(delivery: Delivery) -> Press:
    """Read a delivery of a check run's ``requested_action``."""
    fields = delivery.fields
    return Press(
        repository=fields["repository"],
        installation=fields["installation"],
        check_run=fields["id"],
        name=fields["name"],
        sha=fields["head_sha"],
        external_id=fields["external_id"],
        identifier=fields["identifier"],
        by=fields["sender"],
        at=delivery.received_at,
    )


def _postpone(receipt: str, seconds: int) -> None:
    wires = wiring()
    wires.patience.postpone(PressQueueSettings.from_env(wires.environ).press_queue, receipt, seconds)
