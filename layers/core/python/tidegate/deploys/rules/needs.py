"""What of a root runs, and what needs a person: pages and terminals count, and name, the same."""

from __future__ import annotations

from enum import StrEnum

from tidegate.deploys.rules.state import State

#: States in which work is done. What was admitted and waits, for a person or for others, does not run.
RUNNING = frozenset({State.PLANNING, State.APPROVED, State.APPLYING})
#: Ends that a root shows until its next deployment; an unknown outcome has a lock that tells.
FAILED = frozenset({State.PLAN_FAILED, State.APPLY_FAILED, State.ENGINE_FAULT})


class Need(StrEnum):
    """Why somebody looks at a root, in the order in which it is told."""

    LOCKED = "locked"
    REVIEW = "review"
    REQUIREMENTS = "requirements"
    BLOCKED = "blocked"
    FAILED = "failed"


def runs(running: str | None) -> bool:
    """Tell whether work is done for a root whose deployment in flight, if there is one, has this state."""
    return running in RUNNING


def needs(running: str | None, last: str | None, *, locked: bool) -> tuple[Need, ...]:
    """Return what of a root needs a person, nothing if nothing does.

    ``running`` and ``last`` are the states (words of ``State``) of the deployment in flight and of the last that was
    admitted and ended, ``locked`` whether its queue is.
    """
    found = {
        Need.LOCKED: locked,
        Need.REVIEW: running == State.AWAITING_REVIEW,
        Need.REQUIREMENTS: running == State.AWAITING_REQUIREMENTS,
        Need.BLOCKED: running == State.BLOCKED,
        Need.FAILED: running is None and last in FAILED,
    }
    return tuple(need for need, is_there in found.items() if is_there)
