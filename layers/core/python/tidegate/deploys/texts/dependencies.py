"""The dependencies of a deployment at a gate that are worth a line each."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Dependency, Opening, evaluate_gate, point_of
from tidegate.deploys.rules.state import DONE, State
from tidegate.deploys.texts.presentation import PendingDependency, WaitedFor

#: Lines of the list: nobody reads more.
NAMED = 10
#: What waits for people comes first.
_FOR_PEOPLE = frozenset({State.BLOCKED, State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS})


def are_enough(deployment: Deployment, looked_at: Sequence[Dependency]) -> bool:
    """Tell whether these are enough to fill the list. Of a blocked deployment, it names what blocks it."""
    opening, held_by = _held_by(deployment, looked_at)
    return len(held_by) >= NAMED and (deployment.state is State.GATED or opening is Opening.BLOCKED)


def is_listed_whole(dependencies: Sequence[Dependency]) -> bool:
    """Tell whether the list names all of these that are not done yet."""
    return sum(each.state not in DONE for each in dependencies) <= NAMED


def waited_for(deployment: Deployment, looked_at: Sequence[Dependency], total: int) -> WaitedFor:
    """Return what the deployment waits for, of ``total`` dependencies of which these were read.

    What failed hides what is under way: that is counted only.
    """
    opening, held_by = _held_by(deployment, looked_at)
    named = sorted(held_by, key=lambda each: each.state not in _FOR_PEOPLE)[:NAMED]
    done = sum(each.state in DONE for each in looked_at)
    unknown = total - len(looked_at)
    under_way = len(looked_at) - done - len(held_by) + unknown if opening is Opening.BLOCKED else 0
    return WaitedFor(
        tuple(PendingDependency(each.root, each.stack, each.state, each.at) for each in named),
        more=total - done - under_way - len(named),
        under_way=under_way,
        done=done,
        at_most=unknown > 0,
    )


def _held_by(deployment: Deployment, looked_at: Sequence[Dependency]) -> tuple[Opening, Sequence[Dependency]]:
    """Return how the gate stands, and which of these hold it: who failed, or else who is not done."""
    verdict = evaluate_gate(deployment, looked_at, point_of(deployment))
    names = set(verdict.names) if verdict.opening in {Opening.BLOCKED, Opening.WAIT} else set()
    return verdict.opening, [each for each in looked_at if each.name in names]
