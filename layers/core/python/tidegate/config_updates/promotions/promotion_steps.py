"""Steps of the machine ``promotion`` between its begin and the promotion itself."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tidegate.config_updates.promotions.review_promotions import decided, review_promotion, save_promotion, what_follows
from tidegate.config_updates.rules.promotion import Promotion, Stage, after_soak, progress_of, unplaced_promotion
from tidegate.messages.config_updates import (
    EndSoak,
    FailPromotion,
    OfPromotion,
    PromotionMoved,
    StallPromotion,
    WaitInPromotion,
)
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound, TooLate

#: Characters of an internal error that people are shown.
_SHOWN = 500


def wait_in_promotion(ports: Ports, message: WaitInPromotion) -> None:
    """Let the promotion wait with ``message.token``, or settle it at once if the promotion is further already.

    A late copy of an earlier attempt, whose token has expired, does nothing. Raise NotFound, Conflict,
    CloudUnavailable.
    """
    if deciding_again(lambda: _keep(ports, message)):
        review_promotion(ports, find_promotion(ports, message))
        return
    promotion = find_promotion(ports, message)
    with suppress(TooLate):
        ports.workflows.settle(message.token, what_follows(ports, promotion).model_dump())


def _keep(ports: Ports, message: WaitInPromotion) -> bool:
    """Store the token of a wait in the promotion's stage. Return False if the promotion is in another stage."""
    before = find_promotion(ports, message)
    if message.attempt < before.token_attempt:
        return True
    after = decided(ports, before)
    waits = after.stage.value == message.stage
    if waits:
        kept = replace(after, token=message.token, token_attempt=message.attempt)
        ports.config_updates.save_promotion(kept)
    elif after != before:
        save_promotion(ports, after)
    return waits


def stall_promotion(ports: Ports, message: StallPromotion) -> None:
    """Record that targets have not reported in time, if it still waits for them. Raise NotFound and Conflict."""
    deciding_again(lambda: _stall(ports, message))


def _stall(ports: Ports, message: StallPromotion) -> None:
    before = find_promotion(ports, message)
    if before.stage is not Stage.TARGETS:
        return
    environment = ports.config_updates.environment(before.repository, *before.environment_key)
    reason = progress_of(before, environment, ports.clock.now()).reason
    after = replace(before, stalled=True, reason=reason)
    if after != before:
        save_promotion(ports, after)


def end_soak(ports: Ports, message: EndSoak) -> PromotionMoved:
    """Return what follows once the image set has stayed long enough, or was replaced. Raise NotFound and Conflict."""
    return deciding_again(lambda: _end_soak(ports, message))


def _end_soak(ports: Ports, message: EndSoak) -> PromotionMoved:
    before = find_promotion(ports, message)
    environment = ports.config_updates.environment(before.repository, *before.environment_key)
    after = after_soak(before, environment)
    if after != before:
        save_promotion(ports, after)
    return PromotionMoved(next="ended" if after.stage is Stage.ENDED else "after", reason=after.reason)


def fail_promotion(ports: Ports, message: FailPromotion) -> None:
    """Record an internal error. The promotion stays open: the reconciler starts it again.

    Raise NotFound without the entry, Conflict, CloudUnavailable.
    """
    deciding_again(lambda: _fail(ports, message))


def _fail(ports: Ports, message: FailPromotion) -> None:
    store = ports.config_updates
    known = store.promotion(message.repository, message.entry, message.entry_attempt)
    if known is None:
        known = unplaced_promotion(store.entry(message.repository, message.entry), message.entry_attempt)
    if known.stage is not Stage.ENDED:
        reason = f"Internal error: {message.error}: {message.cause}"[:_SHOWN]
        save_promotion(ports, replace(known, reason=reason))


def find_promotion(ports: Ports, message: OfPromotion) -> Promotion:
    """Return the promotion of a step. Raise NotFound."""
    known = ports.config_updates.promotion(message.repository, message.entry, message.entry_attempt)
    if known is None:
        raise NotFound("promotion", message.entry)
    return known
