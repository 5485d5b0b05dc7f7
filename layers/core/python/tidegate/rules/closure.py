"""Names that lead to names: in which order they come, and all that they lead to over any number of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

#: Names of a circle that are shown: more are hard to read.
_SHOWN = 12


class Circle(Exception):
    """Some names lead back to themselves: ``names`` are in order, from the first again to the first."""

    def __init__(self, names: Sequence[str]) -> None:
        shown = names if len(names) <= _SHOWN else (*names[: _SHOWN - 2], "…", names[-1])
        super().__init__(" → ".join(shown))
        self.names = tuple(names)


def in_order(leads_to: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names, each after all that it leads to. Raise Circle, which begins at the first name of its own."""
    try:
        return tuple(TopologicalSorter(leads_to).static_order())
    except CycleError as error:
        names = error.args[1][:0:-1]
        start = names.index(min(names))
        raise Circle([*names[start:], *names[:start], names[start]]) from None


def closed(leads_to: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Return for each name all names that it leads to in one step or more: itself only where a circle leads back."""
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
