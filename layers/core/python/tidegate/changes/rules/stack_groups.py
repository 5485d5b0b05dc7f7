"""Stack groups: stacks that hold other stacks. Their settings are pushed down to the leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegate.rules.graphs import in_order


@dataclass(frozen=True, slots=True)
class StackGroups:
    """``leaves`` has for each name its leaves, for a leaf itself alone, in the order of the stack group.

    ``around`` has for each leaf its parent stacks: those nearest to it first, those of one distance together.
    """

    leaves: Mapping[str, tuple[str, ...]]
    around: Mapping[str, tuple[tuple[str, ...], ...]]

    def expand(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the leaves of stacks, each once."""
        return tuple(dict.fromkeys(leaf for name in names for leaf in self.leaves[name]))

    def within(self, leaf: str) -> tuple[str, ...]:
        """Return the parent stacks of a leaf, the nearest first."""
        return tuple(name for names in self.around[leaf] for name in names)


def groups_of(holds: Mapping[str, Sequence[str]]) -> StackGroups:
    """Return the groups, given which stacks each stack holds. Raise Cycle if one contains itself."""
    leaves: dict[str, tuple[str, ...]] = {}
    for name in in_order(holds):
        held = [leaf for each in holds[name] for leaf in leaves[each]]
        leaves[name] = tuple(dict.fromkeys(held)) if holds[name] else (name,)
    holders: dict[str, list[str]] = {name: [] for name in holds}
    for name, inner in holds.items():
        for each in dict.fromkeys(inner):
            holders[each].append(name)
    return StackGroups(leaves, {name: _around(name, holders) for name in holds if not holds[name]})


def _around(leaf: str, holders: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the parent stacks of a leaf by their distance."""
    seen = {leaf}
    found = []
    outer: tuple[str, ...] = (leaf,)
    while outer := tuple(sorted({name for inner in outer for name in holders[inner]} - seen)):
        seen.update(outer)
        found.append(outer)
    return tuple(found)
