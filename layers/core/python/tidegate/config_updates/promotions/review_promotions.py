"""Evaluate the promotions of a config repository: what follows for each from its entry, reports and holds.

A wait stores its token before it reads what it waits for; whatever happens is saved before the promotions are
evaluated. So one of the two sees the other. A token is settled before the stage is saved: if saving fails, the same
follows again from the same records, and the machine learns it when it waits next.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tidegate.config_updates.promotions.find_waits import find_waits
from tidegate.config_updates.rules.environment import EnvironmentState, ImageSetStatus
from tidegate.config_updates.rules.promotion import (
    Promotion,
    Stage,
    ended,
    soak_left,
    with_entry,
    with_environment,
)
from tidegate.messages.config_updates import PromotionMoved
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import TooLate


def review_promotions(ports: Ports, repository: str) -> int:
    """Evaluate every open promotion, and settle the tokens of those that go on. Return how many changed.

    A repeated call is harmless. Raise ExceptionGroup if some failed; all others are evaluated then.
    """
    changed, failures = 0, []
    for each in ports.config_updates.open_promotions(repository):
        try:
            changed += review_promotion(ports, each).version != each.version
        except Exception as error:  # noqa: BLE001  # One's failure must not hold the others back.
            error.add_note(f"while evaluating the promotion of {each.entry}")
            failures.append(error)
    if failures:
        raise ExceptionGroup("Some promotions could not be evaluated. They will be evaluated again.", failures)
    return changed


def review_promotion(ports: Ports, known: Promotion) -> Promotion:
    """Evaluate a promotion, settle its token if it goes on, and return it as it is then.

    Raise Conflict after repeated concurrent writes, CloudUnavailable if Step Functions refuses for now: call again.
    """
    read = [known]

    def again() -> Promotion:
        promotion = read.pop() if read else _read(ports, known)
        return _review(ports, promotion)

    return deciding_again(again)


def _read(ports: Ports, known: Promotion) -> Promotion:
    return ports.config_updates.promotion(known.repository, known.entry, known.attempt) or known


def _review(ports: Ports, before: Promotion) -> Promotion:
    after = decided(ports, before)
    if before.token and (after.stage is not before.stage or _is_ready(after)):
        with suppress(TooLate):
            ports.workflows.settle(before.token, what_follows(ports, after).model_dump())
        after = replace(after, token="")
    return save_promotion(ports, after) if after != before else before


def save_promotion(ports: Ports, promotion: Promotion) -> Promotion:
    """Save a promotion, and let people see it with its entry. Raise Conflict and CloudUnavailable."""
    saved = ports.config_updates.save_promotion(promotion)
    ports.event_publisher.entry_changed(saved.repository, saved.entry)
    return saved


def decided(ports: Ports, promotion: Promotion) -> Promotion:
    """Return a promotion with what follows from the records, not saved. Save that its environment is complete.

    Raise Conflict if the environment changed meanwhile.
    """
    store = ports.config_updates
    if promotion.stage is Stage.CHECKS:
        entries = store.entries(promotion.repository, [promotion.entry])
        promotion = with_entry(promotion, entries.get(promotion.entry))
    if promotion.stage is Stage.TARGETS:
        environment = _completed(ports, promotion, store.environment(promotion.repository, *promotion.environment_key))
        promotion = with_environment(promotion, environment, ports.clock.now())
    if promotion.stage is Stage.AFTER:
        promotion = _in_order(ports, promotion)
    if promotion.stage is Stage.AFTER:
        promotion = replace(promotion, reason=find_waits(ports, promotion))
    return promotion


def what_follows(ports: Ports, promotion: Promotion) -> PromotionMoved:
    """Return what the machine does next, for a promotion that is past its checks."""
    if _is_ready(promotion):
        return PromotionMoved(next="promote", reason="Nothing comes first.")
    soak = soak_left(promotion, ports.clock.now()) if promotion.stage is Stage.SOAK else 0
    moved = {"next": promotion.stage.value, "reason": promotion.reason, "soak": soak}
    return PromotionMoved.model_validate(moved)


def _is_ready(promotion: Promotion) -> bool:
    """Tell whether nothing comes before the next environment: there is no reason to wait."""
    return promotion.stage is Stage.AFTER and not promotion.reason


def _completed(ports: Ports, promotion: Promotion, environment: EnvironmentState) -> EnvironmentState:
    """Save once that all targets deployed the image set, by the targets that the promotion started with."""
    if environment.status_of(promotion.identity) is not ImageSetStatus.NEWEST:
        return environment
    completed = environment.completed(promotion.targets, ports.clock.now())
    return ports.config_updates.save_environment(completed) if completed != environment else environment


def _in_order(ports: Ports, promotion: Promotion) -> Promotion:
    """End a promotion if a newer image set of its environment waits for the same."""
    others = [
        each
        for each in ports.config_updates.open_promotions(promotion.repository)
        if each.environment_key == promotion.environment_key
        and each.stage is Stage.AFTER
        and each.entry != promotion.entry
    ]
    if not others:
        return promotion
    environment = ports.config_updates.environment(promotion.repository, *promotion.environment_key)
    order = [each.identity for each in environment.landed]
    newer = order[: order.index(promotion.identity)] if promotion.identity in order else order
    if any(each.identity in newer for each in others):
        return ended(promotion, "Superseded by a newer image set.")
    return promotion
