"""Who pushed what a pull request holds: the forge vouches for that, unlike for the addresses in commits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.texts.markdown import code
from tidegate.vcs.rules.authors import Authors

#: Pushes that are remembered of a pull request. Of a head that came later, it is not known who pushed it.
MAXIMUM_PUSHES = 200


@dataclass(frozen=True, slots=True)
class HeadPush:
    """That ``by`` moved a pull request's head, ``before`` to ``after``. Who opened it has no ``before``."""

    before: str
    after: str
    by: str


def and_pushes(known: Sequence[HeadPush], told: Iterable[HeadPush]) -> tuple[HeadPush, ...]:
    """Return the known pushes with others added, each once, in any order."""
    return tuple(dict.fromkeys((*known, *told)))[:MAXIMUM_PUSHES]


def pushers(pushes: Sequence[HeadPush], head: str) -> Authors:
    """Return who pushed. All are known if pushes that were told of lead from the opening to ``head``.

    One that nobody was told of breaks that: whoever made it may be who approves.
    """
    reached, left = {""}, list(pushes)
    while following := [each for each in left if each.before in reached]:
        reached |= {each.after for each in following}
        left = [each for each in left if each not in following]
    known = head in reached
    gaps = () if known else (f"the pusher of {code(head[:7])}",)
    return Authors(tuple(dict.fromkeys(each.by for each in pushes)), known, gaps)
