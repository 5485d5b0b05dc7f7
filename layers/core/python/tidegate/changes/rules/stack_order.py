"""Stacks in the order of what they wait for: how far behind each is, and which ones are right before it."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

#: For each stack, by its name, those that it waits for: in one step or in several.
Before = Mapping[str, AbstractSet[str]]


def tiers(before: Before) -> dict[str, int]:
    """Return how many stacks go before each, one after the other, and itself.

    No way is longer than there are stacks, so that this ends for stacks that wait for each other, too.
    """
    found = dict.fromkeys(before, 1)
    for _ in before:
        longer = {name: 1 + max((found[first] for first in firsts), default=0) for name, firsts in before.items()}
        if longer == found:
            break
        found = longer
    return found


def nearest(name: str, before: Before) -> list[str]:
    """Return the stacks right before one, by name: those that no other one before it waits for."""
    further = {earlier for first in before[name] for earlier in _all_before(first, before)}
    return sorted(before[name] - further)


def _all_before(name: str, before: Before) -> set[str]:
    found: set[str] = set()
    ahead = [name]
    while ahead:
        new = before[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return found
