"""Start the promotion of an entry, and remember the chain of environments with which it started.

A change of ``tidegate.yaml`` is for later entries.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.config_updates.read_configuration import load_updates
from tidegate.config_updates.rules.entry import UpdateEntry
from tidegate.config_updates.rules.promotion import AwaitedStack, Promotion, Stage, execution_name, new_promotion
from tidegate.messages.config_updates import BeginPromotion
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound


def start_promotion(ports: Ports, entry: UpdateEntry) -> None:
    """Start the execution for this attempt of an entry, unless there is one. A repeated call is harmless.

    Its first step records the promotion: that needs the repository's file. Raise CloudUnavailable.
    """
    if ports.config_updates.promotion(entry.repository, entry.id, entry.attempt) is None:
        name = execution_name(entry.id, entry.attempt)
        ports.update_workflows.start_promotion(name, entry.repository, entry.id, entry.attempt)


def begin_promotion(ports: Ports, message: BeginPromotion) -> None:
    """Record the promotion. One that is recorded with its chain stays as it is.

    Raise NoConfigUpdates and InvalidConfiguration for a file without a chain, ForgeUnavailable and ForgeRefused.
    """
    deciding_again(lambda: _begin(ports, message))


def _begin(ports: Ports, message: BeginPromotion) -> None:
    store, repository = ports.config_updates, message.repository
    known = store.promotion(repository, message.entry, message.entry_attempt)
    if known is not None and (known.file or known.stage is Stage.ENDED):
        return
    entry = store.entry(repository, message.entry)
    updates = load_updates(ports, repository, store.head(repository).base)
    declared = next((each for each in updates.sets if each.name == entry.image_set), None)
    promotion = _with_heads(ports, new_promotion(replace(entry, attempt=message.entry_attempt), declared))
    if known is not None:
        promotion = replace(promotion, version=known.version, restarts=known.restarts)
    store.save_promotion(promotion)


def _with_heads(ports: Ports, promotion: Promotion) -> Promotion:
    """Return it with the newest known commits of the repositories whose stacks it waits for."""
    if promotion.following is None:
        return promotion
    stacks = tuple(_with_head(ports, each) for each in promotion.following.stacks)
    return replace(promotion, following=replace(promotion.following, stacks=stacks))


def _with_head(ports: Ports, stack: AwaitedStack) -> AwaitedStack:
    try:
        known = ports.repository_index.repository(stack.repository)
    except NotFound:
        return stack
    return replace(stack, head=known.seen, seen_at=known.seen_at)
