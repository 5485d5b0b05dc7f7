"""The phases of a deployment and how long each took, from its timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step


class PhaseKind(StrEnum):
    """What a deployment does or waits for."""

    QUEUE = "queue"
    PLAN = "plan"
    GATE = "gate"
    REVIEW = "review"
    APPLY = "apply"


#: What a deployment is in, by its state. One that is approved waits for its apply to start.
_KINDS: Mapping[State, PhaseKind] = {
    State.QUEUED: PhaseKind.QUEUE,
    State.PLANNING: PhaseKind.PLAN,
    State.GATED: PhaseKind.GATE,
    State.BLOCKED: PhaseKind.GATE,
    State.AWAITING_REVIEW: PhaseKind.REVIEW,
    State.AWAITING_REQUIREMENTS: PhaseKind.GATE,
    State.APPROVED: PhaseKind.APPLY,
    State.APPLYING: PhaseKind.APPLY,
}


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase, and how long it took in all, or has taken so far if it is ``current``.

    ``ended`` is the deployment's final state, at the phase in which it ended.
    """

    kind: PhaseKind
    took: timedelta
    current: bool = False
    ended: State | None = None


def phases(history: Sequence[Step], now: datetime) -> tuple[Phase, ...]:
    """Return the phases that a deployment went through, in the order of their first beginning.

    A phase that it came back to, such as a second plan, counts once, with the sum.
    """
    took: dict[PhaseKind, timedelta] = {}
    last: PhaseKind | None = None
    final: State | None = None
    for step, until in zip(history, [*(each.at for each in history[1:]), now], strict=False):
        if step.state not in _KINDS:
            final = step.state
            continue
        last = _KINDS[step.state]
        took[last] = took.get(last, timedelta()) + max(until - step.at, timedelta())
    return tuple(
        Phase(kind, length, kind is last and final is None, final if kind is last else None)
        for kind, length in took.items()
    )
