"""Versions of engines, and whether they are what ``required_version`` of a module allows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_VERSION = re.compile(r"v?(\d{1,5}(?:\.\d{1,5}){0,2})(-[0-9A-Za-z.-]{1,50})?(?:\+[0-9A-Za-z.-]{1,50})?")
_TERM = re.compile(r"(=|!=|>=?|<=?|~>)? *+(\S{1,100})")

_Numbers = tuple[int, ...]


def newest_allowed(versions: Collection[str], constraints: Collection[str]) -> str | None:
    """Return the newest exact version that all constraints allow; None if there is none, or a constraint is invalid.

    A constraint is as engines read it: terms such as ``>= 1.9`` or ``~> 1.9.0``, separated by commas. As for engines,
    pre-releases are only what an exact version names, so none is returned.
    """
    terms = list(_terms(constraints))
    if None in terms:
        return None
    released = {each: _numbers(each) for each in versions if "-" not in each}
    allowed = [
        (numbers, each)
        for each, numbers in released.items()
        if numbers and all(_allows(term, numbers) for term in terms if term)
    ]
    return max(allowed)[1] if allowed else None


def _terms(constraints: Collection[str]) -> Iterator[tuple[str, _Numbers] | None]:
    """Yield each term's operator and numbers; None for one that cannot be read."""
    for term in (each.strip() for constraint in constraints for each in constraint.split(",")):
        found = _TERM.fullmatch(term)
        numbers = _numbers(found[2]) if found else ()
        yield (found[1] or "=", numbers) if found and numbers else None


def _numbers(version: str) -> _Numbers:
    """Return the numbers of a released version as it is written; nothing for what is none."""
    found = _VERSION.fullmatch(version)
    return tuple(map(int, found[1].split("."))) if found and not found[2] else ()


def _allows(term: tuple[str, _Numbers], version: _Numbers) -> bool:
    operator, numbers = term
    wanted, one = _whole(numbers), _whole(version)
    if operator == "~>":
        kept = max(len(numbers) - 1, 1)
        return one >= wanted and one[:kept] == wanted[:kept]
    return {
        "=": one == wanted,
        "!=": one != wanted,
        ">": one > wanted,
        ">=": one >= wanted,
        "<": one < wanted,
        "<=": one <= wanted,
    }[operator]


def _whole(numbers: _Numbers) -> _Numbers:
    return (*numbers, 0, 0, 0)[:3]
