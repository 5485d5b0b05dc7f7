"""Places for speculative plans: each repository has so many, which are given away first come, first served.

Who takes a slot is a speculative plan, of a pull request or of a look for drift: all have the same runners. The
installation's concurrency slots (``slots``) are kept by the same rules, and are taken by deployments as well: only
there some go before others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

#: Each of so many turns goes to whoever has waited longest, whatever it is. So whoever has ``n`` before it in the line
#: has its place after so many times ``n + 1`` turns at most, and three of four go by precedence.
FAIR_PASS = 4


class Precedence(IntEnum):
    """Who goes before whom. An apply goes first: people have confirmed it, and its stack's others wait for it."""

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
    """The layer that is to be given a slot now, None if it is nobody's turn, and why."""

    layer: str | None
    reason: str


def asked(places: SlotUsage, layer: str, limit: int) -> Answer:
    """Return whether a layer has a slot, or may take one. Nobody passes those who wait."""
    if layer in places.held:
        return Answer(True, "It already has a concurrency slot.")
    if places.line:
        return Answer(False, f"Other plans already wait for a concurrency slot: {len(places.line)}.")
    if len(places.held) >= limit:
        return Answer(False, f"All concurrency slots are in use: {len(places.held)} of {limit}.")
    return Answer(True, f"A concurrency slot is free: {len(places.held)} of {limit} are in use.")


def next_pass(places: SlotUsage, limit: int) -> ReconcilerPass:
    """Return whose turn it is."""
    if not places.line:
        return ReconcilerPass(None, "No plan is waiting.")
    if len(places.held) >= limit:
        return ReconcilerPass(None, f"All concurrency slots are in use: {len(places.held)} of {limit}.")
    return ReconcilerPass(next(in_order(places)), "It is next, and a concurrency slot is free.")


def in_order(places: SlotUsage) -> Iterator[str]:
    """Return those that wait in the order in which they get a slot, if nobody comes who goes before them."""
    by_rank, by_age = iter(sorted(places.line, key=places.rank)), iter(places.line)
    served: set[str] = set()
    for turn in range(places.turns + 1, places.turns + 1 + len(places.line)):
        source = by_rank if turn % FAIR_PASS else by_age
        first = next(each for each in source if each not in served)
        served.add(first)
        yield first


def taken(places: SlotUsage, layer: str, limit: int) -> SlotUsage:
    """Return the slots once a layer has asked for one: as they were, if it has to wait."""
    if not asked(places, layer, limit).may_plan:
        return places
    held = places.held if layer in places.held else (*places.held, layer)
    return replace(places, held=held, version=places.version + 1)


def joined(places: SlotUsage, layer: str, precedence: Precedence = Precedence.PLAN) -> SlotUsage:
    """Return the slots with a layer at the end of the line, unless it waits or has a slot already."""
    if layer in places.held or layer in places.line:
        return places
    ranks = places.ranks if precedence is Precedence.PLAN else {**places.ranks, layer: precedence}
    return replace(places, line=(*places.line, layer), version=places.version + 1, ranks=ranks)


def handed_over(places: SlotUsage, layer: str, limit: int) -> SlotUsage | None:
    """Return the slots once a layer whose turn it is has got one; None if it is not its turn."""
    if next_pass(places, limit).layer != layer:
        return None
    return replace(
        _without(places, [layer]),
        held=(*places.held, layer),
        version=places.version + 1,
        turns=places.turns + 1,
    )


def left(places: SlotUsage, layers: Collection[str]) -> SlotUsage:
    """Return the slots without layers: these have none, and wait for none."""
    after = _without(places, layers)
    return replace(after, version=places.version + (after.line != places.line))


def _without(places: SlotUsage, layers: Collection[str]) -> SlotUsage:
    line = tuple(each for each in places.line if each not in layers)
    held = tuple(each for each in places.held if each not in layers)
    return replace(places, held=held, line=line, ranks={each: r for each, r in places.ranks.items() if each in line})
