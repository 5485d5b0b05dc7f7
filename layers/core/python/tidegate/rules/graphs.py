"""Dependency graphs: orders, layers, closures and cycles."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from heapq import heappop, heappush
from typing import Any

#: Names of a cycle that are shown: more are hard to read.
_SHOWN = 10


class Cycle(Exception):
    """Nodes that lead back to themselves: each to the next, and the last to the first."""

    def __init__(self, nodes: Sequence[Any]) -> None:
        super().__init__(arrows([str(node) for node in nodes]))
        self.nodes = tuple(nodes)


def arrows(cycle: Sequence[str]) -> str:
    """Return a cycle as people read it: from the first name again to the first."""
    return " → ".join((*cycle[:_SHOWN], *(("…",) if len(cycle) > _SHOWN else ()), cycle[0]))


def from_smallest(names: Sequence[str]) -> tuple[str, ...]:
    """Return a cycle that begins at the first of its names."""
    first = names.index(min(names))
    return (*names[first:], *names[:first])


def in_order(leads_to: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return the names, each after all that it leads to. Raise Cycle, which begins at the first of its names."""
    try:
        return tuple(TopologicalSorter(leads_to).static_order())
    except CycleError as error:
        raise Cycle(from_smallest(_nodes(error))) from None


def closed(leads_to: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return for each name all names that it leads to in one step or more: itself only where a cycle leads back."""
    names = list(leads_to)
    bit = {name: 1 << place for place, name in enumerate(names)}
    # Sets as the bits of numbers: one step below joins two of them, however many names they hold.
    reached = {name: sum(bit[each] for each in set(leads_to[name])) for name in names}
    for between in names:
        beyond, at = reached[between], bit[between]
        for name in names:
            if reached[name] & at:
                reached[name] |= beyond
    return {name: frozenset(_names(bits, names)) for name, bits in reached.items()}


def _names(bits: int, names: list[str]) -> Iterable[str]:
    return (name for name, digit in zip(names, reversed(f"{bits:b}"), strict=False) if digit == "1")


def tiers(before: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Return how many names go before each, one after the other, and itself. Names without an entry do not count.

    No way is longer than there are names, so that this ends for names that wait for each other, too.
    """
    found = dict.fromkeys(before, 1)
    for _ in range(1, len(before)):
        known = {name: [found[each] for each in before[name] if each in found and each != name] for name in before}
        longer = {name: 1 + max(firsts, default=0) for name, firsts in known.items()}
        if longer == found:
            break
        found = longer
    return found


def right_before(before: Mapping[str, frozenset[str] | set[str]]) -> dict[str, list[str]]:
    """Return for each name those right before it: which no other one before it waits for."""
    reached = closed(before)
    return {name: sorted(firsts.difference(*(reached[each] for each in firsts))) for name, firsts in before.items()}


class WaitGraph:
    """Who waits for whom. The first ``members`` nodes are things in order, those after them only stand between.

    Where many wait for many, one node between them supersedes a pair for each two.
    """

    def __init__(self, members: int) -> None:
        self.members = members
        self._waits: list[list[int]] = [[] for _ in range(members)]
        self._layered: list[list[int]] = [[] for _ in range(members)]

    def between(self) -> int:
        """Return a new node that only stands between others."""
        self._waits.append([])
        self._layered.append([])
        return len(self._waits) - 1

    def wait(self, node: int, before: int, *, layered: bool = True) -> None:
        """Let a node come after another one; ``layered`` tells whether it is in a later layer, too."""
        (self._layered if layered else self._waits)[node].append(before)

    def ordered(self) -> tuple[list[int], list[int]]:
        """Return the members in an order that keeps all of it, and the layer of each member, from 1.

        Where there is a choice, the smallest comes first. A layer is the longest way to a member, counted in members.
        Raise Cycle.
        """
        sorter = self._sorter()
        try:
            sorter.prepare()
        except CycleError as error:
            raise Cycle(_nodes(error)) from None
        order, layers = [], [0] * len(self._waits)
        for node in self._walk(sorter):
            layers[node] = max((layers[before] for before in self._layered[node]), default=0)
            if node < self.members:
                layers[node] += 1
                order.append(node)
        return order, layers[: self.members]

    def stuck(self) -> dict[int, list[int]]:
        """Return for each member that no order has a position for the nodes of the cycle that it waits for.

        A member of the cycle has it as well. Each waits for the next, and the last for the first.
        """
        sorter = self._sorter()
        with suppress(CycleError):
            sorter.prepare()
        left = set(range(len(self._waits))) - set(self._walk(sorter))
        awaited = {node: min(left.intersection(self._before(node))) for node in left}
        found: dict[int, list[int]] = {}
        for start in sorted(left):
            way: dict[int, int] = {}
            node = start
            while node not in found and node not in way:
                way[node] = len(way)
                node = awaited[node]
            cycle = found[node] if node in found else list(way)[way[node] :]
            found.update(dict.fromkeys(way, cycle))
        return {node: cycle for node, cycle in found.items() if node < self.members}

    def _before(self, node: int) -> Iterator[int]:
        yield from self._waits[node]
        yield from self._layered[node]

    def _sorter(self) -> TopologicalSorter[int]:
        return TopologicalSorter({node: self._before(node) for node in range(len(self._waits))})

    def _walk(self, sorter: TopologicalSorter[int]) -> Iterator[int]:
        """Yield what can be reached: nodes between others at once, then the smallest member."""
        ready: list[tuple[bool, int]] = []
        while sorter.is_active():
            for node in sorter.get_ready():
                heappush(ready, (node < self.members, node))
            _, node = heappop(ready)
            sorter.done(node)
            yield node


def _nodes(error: CycleError) -> Sequence[Any]:
    """Return what graphlib found, from each node to the next that it leads to."""
    nodes: Sequence[Any] = error.args[1][:0:-1]
    return nodes
