"""The states of a deployment, and which may follow which.

::

    queued ─▶ planning ─▶ awaiting_review ─▶ approved ─▶ applying ─▶ applied
      │        ▲ │  │            │                          │  └──▶ apply_failed
      │        │ │  └─▶ no_changes                          └─────▶ outcome_unknown
      │        │ └────▶ plan_failed
      ├─▶ refused        awaiting_review ─▶ rejected | review_expired
      ├─▶ superseded
      └─▶ no_changes, if a pull request was applied before this, its merge
               ▼
             gated ◀─▶ blocked     gated | blocked ─▶ rejected | superseded | gate_expired

    approved ◀─▶ awaiting_requirements ─▶ rejected | gate_expired

    any of these that has not begun to apply ─▶ cancelled

A deployment is ``gated`` while it waits for its dependencies, before its plan or after it, and ``blocked`` once one
of them failed. From both it continues (to planning, awaiting_review or approved) when the gate is satisfied. An
approved deployment is ``awaiting_requirements`` while an apply requirement of its root is not met.

An internal error ends a deployment as ``engine_fault``: nothing was applied. Once a runner has claimed the apply job,
an internal error ends it as ``outcome_unknown`` instead, because the apply may have run. A deployment that somebody
cancelled while it applies ends as the engine reports.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """A deployment's state."""

    QUEUED = "queued"
    PLANNING = "planning"
    GATED = "gated"
    BLOCKED = "blocked"
    AWAITING_REVIEW = "awaiting_review"
    APPROVED = "approved"
    AWAITING_REQUIREMENTS = "awaiting_requirements"
    APPLYING = "applying"
    APPLIED = "applied"
    NO_CHANGES = "no_changes"
    PLAN_FAILED = "plan_failed"
    APPLY_FAILED = "apply_failed"
    REJECTED = "rejected"
    REVIEW_EXPIRED = "review_expired"
    GATE_EXPIRED = "gate_expired"
    REFUSED = "refused"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"
    ENGINE_FAULT = "engine_fault"


#: Where a deployment goes when its gate opens, and how it ends when it does not.
_AFTER_A_GATE = frozenset(
    {
        State.PLANNING,
        State.AWAITING_REVIEW,
        State.APPROVED,
        State.REJECTED,
        State.SUPERSEDED,
        State.GATE_EXPIRED,
        State.CANCELLED,
        State.ENGINE_FAULT,
    }
)

_FOLLOWERS: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset(
        {State.PLANNING, State.NO_CHANGES, State.REFUSED, State.SUPERSEDED, State.CANCELLED, State.ENGINE_FAULT}
    ),
    State.PLANNING: frozenset(
        {
            State.GATED,
            State.AWAITING_REVIEW,
            State.APPROVED,
            State.NO_CHANGES,
            State.PLAN_FAILED,
            State.REFUSED,
            State.SUPERSEDED,
            State.CANCELLED,
            State.ENGINE_FAULT,
        }
    ),
    State.GATED: _AFTER_A_GATE | {State.BLOCKED},
    State.BLOCKED: _AFTER_A_GATE | {State.GATED},
    State.AWAITING_REVIEW: frozenset(
        {State.APPROVED, State.REJECTED, State.REVIEW_EXPIRED, State.PLANNING, State.CANCELLED, State.ENGINE_FAULT}
    ),
    # The review may expire while its answer is on the way: then the answer came too late. If a dependency is run again
    # meanwhile, the gate closes again.
    State.APPROVED: frozenset(
        {
            State.APPLYING,
            State.GATED,
            State.AWAITING_REQUIREMENTS,
            State.REJECTED,
            State.REVIEW_EXPIRED,
            State.CANCELLED,
            State.ENGINE_FAULT,
        }
    ),
    State.AWAITING_REQUIREMENTS: frozenset(
        {State.APPROVED, State.REJECTED, State.GATE_EXPIRED, State.CANCELLED, State.ENGINE_FAULT}
    ),
    # Cancelled before a runner has the job: then none takes it any more.
    State.APPLYING: frozenset(
        {State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.CANCELLED, State.ENGINE_FAULT}
    ),
}

#: States of failed deployments that a person should check, the most urgent first.
FAILED = (State.OUTCOME_UNKNOWN, State.APPLY_FAILED, State.PLAN_FAILED, State.ENGINE_FAULT)
#: States after which the infrastructure is what the revision says.
DONE = frozenset({State.APPLIED, State.NO_CHANGES})
#: States after which the infrastructure may be what the revision says: the next baseline.
_MAY_HAVE_APPLIED = frozenset({State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED, State.OUTCOME_UNKNOWN})


def is_final(state: State) -> bool:
    """Tell whether a deployment in ``state`` has ended."""
    return state not in _FOLLOWERS


def where_it_is(state: State) -> str:
    """Return a deployment's state as the rest of a sentence: ``is now planning``, ``has ended (applied)``."""
    words = state.replace("_", " ")
    return f"has ended ({words})" if is_final(state) else f"is now {words}"


def may_follow(before: State, after: State) -> bool:
    """Tell whether a deployment may go from ``before`` to ``after``."""
    return after in _FOLLOWERS.get(before, frozenset())


def moves_baseline(state: State) -> bool:
    """Tell whether later revisions are compared with a deployment that ended in ``state``.

    A failed or unknown apply counts: it may have changed infrastructure. A failed plan does not.
    """
    return state in _MAY_HAVE_APPLIED


def ends_without_result(state: State, *, apply_was_taken: bool) -> State:
    """Return how a deployment in ``state`` ends when its result will never be reported.

    ``apply_was_taken`` tells whether a runner has taken its apply job (design rule 5).
    """
    return State.OUTCOME_UNKNOWN if state is State.APPLYING and apply_was_taken else State.ENGINE_FAULT
