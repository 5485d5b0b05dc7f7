"""Places for speculative plans: each repository has so many, which are given away first come, first served.

Who takes a place is a temporary layer, of a pull request or of a look for drift: all have the same runners. The
installation's concurrency slots (``domain/slots``) are kept by the same rules, and are taken by deployments as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Places:
    """Which layers of a repository have a place, and which wait for one, by their ids.

    ``held`` are in no order, ``line`` begins with who has waited longest. ``version`` counts changes of the line, and
    how often a place was taken: so who gives back for others what they do not need sees that they took it once more.
    """

    repository: str
    held: tuple[str, ...] = ()
    line: tuple[str, ...] = ()
    version: int = 0

    @property
    def is_quiet(self) -> bool:
        """Whether nobody has a place, and nobody waits for one."""
        return not self.held and not self.line


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a layer may plan now, and why."""

    may_plan: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Turn:
    """The layer that is to be given a place now, None if it is nobody's turn, and why."""

    layer: str | None
    reason: str


def asked(places: Places, layer: str, limit: int) -> Answer:
    """Return whether a layer has a place, or may take one. Nobody passes those who wait."""
    if layer in places.held:
        return Answer(True, "It has a place already.")
    if places.line:
        return Answer(False, f"Others wait for a place: {len(places.line)}.")
    if len(places.held) >= limit:
        return Answer(False, f"All places are taken: {len(places.held)} of {limit}.")
    return Answer(True, f"There is a free place: {len(places.held)} of {limit} are taken.")


def next_turn(places: Places, limit: int) -> Turn:
    """Return whose turn it is."""
    if not places.line:
        return Turn(None, "Nobody waits.")
    if len(places.held) >= limit:
        return Turn(None, f"All places are taken: {len(places.held)} of {limit}.")
    return Turn(places.line[0], "It has waited longest, and there is a free place.")


def taken(places: Places, layer: str, limit: int) -> Places:
    """Return the places once a layer has asked for one: as they were, if it has to wait."""
    if not asked(places, layer, limit).may_plan:
        return places
    held = places.held if layer in places.held else (*places.held, layer)
    return replace(places, held=held, version=places.version + 1)


def joined(places: Places, layer: str) -> Places:
    """Return the places with a layer at the end of the line, unless it waits or has a place already."""
    if layer in places.held or layer in places.line:
        return places
    return replace(places, line=(*places.line, layer), version=places.version + 1)


def handed_over(places: Places, layer: str, limit: int) -> Places | None:
    """Return the places once a layer whose turn it is has got one; None if it is not its turn."""
    if next_turn(places, limit).layer != layer:
        return None
    return replace(places, held=(*places.held, layer), line=places.line[1:], version=places.version + 1)


def left(places: Places, layers: Collection[str]) -> Places:
    """Return the places without layers: these have none, and wait for none."""
    line = tuple(each for each in places.line if each not in layers)
    held = tuple(each for each in places.held if each not in layers)
    return replace(places, held=held, line=line, version=places.version + (line != places.line))
