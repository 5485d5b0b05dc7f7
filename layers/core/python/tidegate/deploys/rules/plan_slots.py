"""Concurrency slots for speculative plans: a limit for each repository, first come, first served.

Plans of pull requests and of drift detection share them. The installation's concurrency slots (``slots``) follow the
same rules and are used by deployments as well: only there, precedence changes the order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

#: One of this many handovers goes to whoever has waited longest, whatever its precedence. So a holder with ``n`` before
#: it gets its slot after at most this many times ``n + 1`` handovers, and three of four follow precedence.
FAIR_PASS = 4


class Precedence(IntEnum):
    """The order of handovers. An apply goes first: people have approved it, and its dependents wait."""

    APPLY = 0
    PLAN = 1
    SPECULATION = 2


@dataclass(frozen=True, slots=True)
class SlotUsage:
    """Which layers of a repository have a slot, and which wait for one, by their ids.

    ``held`` are in no order, ``line`` begins with who has waited longest. ``version`` counts changes of the line, and
    how often a slot was taken: so who gives back for others what they do not need sees that they took it once more.
    ``ranks`` has the precedence of those that wait, if it is not that of a plan; ``turns`` counts slots handed over.
    """

    repository: str
    held: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    version: int = 0
    ranks: Mapping[str, Precedence] = field(default_factory=dict)
    turns: int = 0

    def rank(self, layer: str) -> Precedence:
        """Return the precedence of one that waits."""
        return self.ranks.get(layer, Precedence.PLAN)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody has a slot, and nobody waits for one."""
        return not self.held and not self.line


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a layer may plan now, and why."""

    may_plan: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ReconcilerPass:
    """The layer that gets the next slot, None if there is none, and why."""

    layer: str | None
    reason: str


def asked(places: SlotUsage, layer: str, limit: int) -> Answer:
    """Return whether a layer has a slot, or may take one. It cannot overtake those that wait."""
    if layer in places.held:
        return Answer(True, "It already has a concurrency slot.")
    if places.line:
        return Answer(False, f"Other plans already wait for a concurrency slot: {len(places.line)}.")
    if len(places.held) >= limit:
        return Answer(False, f"All concurrency slots are in use: {len(places.held)} of {limit}.")
    return Answer(True, f"A concurrency slot is free: {len(places.held)} of {limit} are in use.")


def next_pass(places: SlotUsage, limit: int) -> ReconcilerPass:
    """Return who gets the next slot."""
    if not places.line:
        return ReconcilerPass(None, "No plan is waiting.")
    if len(places.held) >= limit:
        return ReconcilerPass(None, f"All concurrency slots are in use: {len(places.held)} of {limit}.")
    return ReconcilerPass(next(in_order(places)), "It is next, and a concurrency slot is free.")


def in_order(places: SlotUsage) -> Iterator[str]:
    """Return the waiting in the order in which they get slots, unless one with precedence arrives."""
    by_rank, by_age = iter(sorted(places.line, key=places.rank)), iter(places.line)
    served: set[str] = set()
    for turn in range(places.turns + 1, places.turns + 1 + len(places.line)):
        source = by_rank if turn % FAIR_PASS else by_age
        first = next(each for each in source if each not in served)
        served.add(first)
        yield first


def taken(places: SlotUsage, layer: str, limit: int) -> SlotUsage:
    """Return the slots after a layer's request: unchanged if it has to wait."""
    if not asked(places, layer, limit).may_plan:
        return places
    held = places.held if layer in places.held else (*places.held, layer)
    return replace(places, held=held, version=places.version + 1)


def joined(places: SlotUsage, layer: str, precedence: Precedence = Precedence.PLAN) -> SlotUsage:
    """Return the slots with a layer added to the end of the line, unless it waits or has a slot already."""
    if layer in places.held or layer in places.line:
        return places
    ranks = places.ranks if precedence is Precedence.PLAN else {**places.ranks, layer: precedence}
    return replace(places, line=(*places.line, layer), version=places.version + 1, ranks=ranks)


def handed_over(places: SlotUsage, layer: str, limit: int) -> SlotUsage | None:
    """Return the slots after handing one to a layer; None if it is not next."""
    if next_pass(places, limit).layer != layer:
        return None
    return replace(
        _without(places, [layer]),
        held=(*places.held, layer),
        version=places.version + 1,
        turns=places.turns + 1,
    )


def left(places: SlotUsage, layers: Collection[str]) -> SlotUsage:
    """Return the slots without these layers, whether they hold slots or wait."""
    after = _without(places, layers)
    return replace(after, version=places.version + (after.line != places.line))


def _without(places: SlotUsage, layers: Collection[str]) -> SlotUsage:
    line = tuple(each for each in places.line if each not in layers)
    held = tuple(each for each in places.held if each not in layers)
    return replace(places, held=held, line=line, ranks={each: r for each, r in places.ranks.items() if each in line})
