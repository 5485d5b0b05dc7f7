"""Who pushed a pull request's commits: unlike commits' email addresses, pushers are authenticated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.texts.markdown import code
from tidegate.vcs.rules.authors import Authors

#: Pushes in a pull request's record at most. Later pushers are unknown.
MAXIMUM_PUSHES = 200


@dataclass(frozen=True, slots=True)
class HeadPush:
    """``by`` moved a pull request's head from ``before`` to ``after``. The opening has no ``before``."""

    before: str
    after: str
    by: str


def and_pushes(known: Sequence[HeadPush], told: Iterable[HeadPush]) -> tuple[HeadPush, ...]:
    """Return the known pushes with others added, each once."""
    return tuple(dict.fromkeys((*known, *told)))[:MAXIMUM_PUSHES]


def pushers(pushes: Sequence[HeadPush], head: str) -> Authors:
    """Return who pushed. All are known if known pushes lead from the opening to ``head``.

    An unknown push breaks that: its pusher might also approve.
    """
    reached, left = {""}, list(pushes)
    while following := [each for each in left if each.before in reached]:
        reached |= {each.after for each in following}
        left = [each for each in left if each not in following]
    known = head in reached
    gaps = () if known else (f"the pusher of {code(head[:7])}",)
    return Authors(tuple(dict.fromkeys(each.by for each in pushes)), known, gaps)
