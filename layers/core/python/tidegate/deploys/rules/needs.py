"""Which roots run and which need a person: pages and terminals count and name the same."""

from __future__ import annotations

from enum import StrEnum

from tidegate.deploys.rules.state import State

#: States in which work is done. An admitted deployment that waits, for a person or a dependency, does not run.
RUNNING = frozenset({State.PLANNING, State.APPROVED, State.APPLYING})
#: States in which a deployment waits for a person's decision.
DECIDABLE = frozenset({State.AWAITING_REVIEW, State.AWAITING_REQUIREMENTS, State.BLOCKED})
#: Endings that a root shows until its next deployment; an unknown outcome shows by its lock.
KNOWN_FAILURES = frozenset({State.PLAN_FAILED, State.APPLY_FAILED, State.ENGINE_FAULT})


class Activity(StrEnum):
    """What a deployment that has not ended does: it waits for others, waits for a person, or runs."""

    WAITING = "waiting"
    NEEDING = "needing"
    RUNNING = "running"


def activity(state: State) -> Activity:
    """Return what a deployment does that has not ended."""
    if state in DECIDABLE:
        return Activity.NEEDING
    return Activity.RUNNING if state in RUNNING else Activity.WAITING


class Need(StrEnum):
    """Why a person should see to a root, most urgent first."""

    LOCKED = "locked"
    REVIEW = "review"
    REQUIREMENTS = "requirements"
    BLOCKED = "blocked"
    FAILED = "failed"


def runs(running: str | None) -> bool:
    """Tell whether a root whose deployment in flight has this state is running."""
    return running in RUNNING


def needs(running: str | None, last: str | None, *, locked: bool) -> tuple[Need, ...]:
    """Return what of a root needs a person, empty if nothing does.

    ``running`` and ``last`` are the states (words of ``State``) of the deployment in flight and of the last that was
    admitted and ended, ``locked`` whether its queue is.
    """
    found = {
        Need.LOCKED: locked,
        Need.REVIEW: running == State.AWAITING_REVIEW,
        Need.REQUIREMENTS: running == State.AWAITING_REQUIREMENTS,
        Need.BLOCKED: running == State.BLOCKED,
        Need.FAILED: running is None and last in KNOWN_FAILURES,
    }
    return tuple(need for need, is_there in found.items() if is_there)
