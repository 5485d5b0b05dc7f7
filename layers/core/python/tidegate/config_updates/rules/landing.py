"""What follows from the verdicts of the entries on the auto branch: land, evict, test those below, or wait.

The auto branch is the default branch and one commit for each entry, the oldest lowest. CI tests a commit with all
that is below it, so a pass covers what is below, and a failure may have been caused there: only the lowest failed entry
is evicted, and only once nothing below it is open. CI tests a push and not each of its commits (``on: push`` of GitHub
Actions, a pipeline of GitLab). So what was pushed together is tested by its highest commit, and only if that fails,
those below it are pushed by themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tidegate.config_updates.rules.verdicts import Verdict

#: Commits that are pushed by themselves at once, each a run of CI. Of 200 entries, the guilty one is known after three
#: such rounds.
MOST_PUSHED = 10


class Move(StrEnum):
    """What the worker does with the auto branch."""

    LAND = "land"
    EVICT = "evict"
    TEST = "test"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Stacked:
    """An entry on the auto branch, what its required checks say, and whether its commit was the end of a push."""

    id: str
    verdict: Verdict
    pushed: bool = True


@dataclass(frozen=True, slots=True)
class Landing:
    """What is done and why.

    ``entry`` is the highest that lands, or the one that is evicted; ``untested`` are those to be pushed by themselves,
    from the lowest.
    """

    move: Move
    reason: str
    entry: str = ""
    untested: tuple[str, ...] = ()


def decide_landing(entries: Sequence[Stacked], *, land_over_red: bool) -> Landing:
    """Return what follows for the entries of the auto branch, the lowest first.

    ``land_over_red`` lets a pass land the failed entries that it covers; without, a failure ends what may land.
    """
    failed = next((at for at, each in enumerate(entries) if each.verdict is Verdict.FAIL), len(entries))
    reach = entries if land_over_red else entries[:failed]
    passed = [at for at, each in enumerate(reach) if each.verdict is Verdict.PASS]
    if passed:
        return Landing(Move.LAND, "It and all below it passed their required checks.", entries[passed[-1]].id)
    if failed == len(entries):
        return Landing(Move.WAIT, "No entry has passed or failed its required checks." if entries else "It is empty.")
    if failed == 0:
        return Landing(Move.EVICT, "It is the lowest failed entry.", entries[0].id)
    if untested := [each.id for each in entries[:failed] if not each.pushed]:
        return Landing(Move.TEST, "CI has not tested what is below the failed entry.", untested=_spread(untested))
    return Landing(Move.WAIT, "An entry below the failed one may have caused it.")


def _spread(entries: Sequence[str]) -> tuple[str, ...]:
    """Return at most ``MOST_PUSHED`` entries at equal distances: a pass covers those below, a failure leaves few."""
    count = min(len(entries), MOST_PUSHED)
    return tuple(entries[number * len(entries) // count] for number in range(count))
