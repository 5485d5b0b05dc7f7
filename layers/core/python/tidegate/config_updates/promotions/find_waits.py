"""Find out why a complete image set is not promoted yet."""

from __future__ import annotations

from tidegate.config.rules.config_updates import Promote
from tidegate.config_updates.promotions.find_stack_wait import find_stack_wait
from tidegate.config_updates.rules.answers import full_because
from tidegate.config_updates.rules.fan_in import Rollout
from tidegate.config_updates.rules.promotion import NextEnvironment, Promotion, progress_of
from tidegate.config_updates.rules.queue import UpdateHead
from tidegate.ports import Ports


def find_waits(ports: Ports, promotion: Promotion) -> str:
    """Return what comes first, as sentences; empty if nothing does. What a person must do is named first."""
    following = promotion.following
    if following is None:
        return ""
    head = ports.config_updates.head(promotion.repository)
    found = (_held(head, promotion), _manual(promotion, following), _failed(ports, promotion), full_because(head))
    stacks = (find_stack_wait(ports, each) for each in following.stacks)
    return " ".join(each for each in (*found, *_environments(ports, promotion, following), *stacks) if each)


def _held(head: UpdateHead, promotion: Promotion) -> str:
    hold = head.set_state(promotion.image_set).hold
    return f"{hold.by} holds {promotion.image_set}: {hold.reason}" if hold else ""


def _manual(promotion: Promotion, following: NextEnvironment) -> str:
    if following.promote is Promote.AUTO or promotion.approved_by:
        return ""
    return f"Somebody must promote it to {following.name}."


def _failed(ports: Ports, promotion: Promotion) -> str:
    environment = ports.config_updates.environment(promotion.repository, *promotion.environment_key)
    progress = progress_of(promotion, environment, ports.clock.now())
    return progress.reason if progress.rollout is Rollout.FAILED else ""


def _environments(ports: Ports, promotion: Promotion, following: NextEnvironment) -> list[str]:
    names = (each.partition("/")[::2] for each in following.environments)
    states = [ports.config_updates.environment(promotion.repository, *each) for each in names]
    waits = "has not deployed its newest image set."
    return [f"{each.image_set}/{each.name} {waits}" for each in states if not each.is_complete]
