"""What of a root runs, and what needs a person."""

from __future__ import annotations

import pytest

from tidegate.deploys.rules.needs import Need, needs, runs
from tidegate.deploys.rules.state import State

FAILED = {State.PLAN_FAILED, State.APPLY_FAILED, State.ENGINE_FAULT}
RUNNING = {
    State.AWAITING_REVIEW: (Need.REVIEW,),
    State.AWAITING_REQUIREMENTS: (Need.REQUIREMENTS,),
    State.BLOCKED: (Need.BLOCKED,),
}


@pytest.mark.parametrize("state", State)
def test_only_what_is_planned_or_applied_runs(state):
    assert runs(state) == runs(state.value) == (state in {State.PLANNING, State.APPROVED, State.APPLYING})
    assert not runs(None)


@pytest.mark.parametrize("state", State)
def test_what_runs_needs_a_person_where_it_waits_for_one_or_is_blocked(state):
    assert needs(state, None, locked=False) == RUNNING.get(state, ())


@pytest.mark.parametrize("state", State)
def test_what_ended_last_needs_a_person_where_it_failed_until_something_runs_again(state):
    assert needs(None, state, locked=False) == ((Need.FAILED,) if state in FAILED else ())
    assert needs(State.PLANNING, state, locked=False) == ()


def test_a_lock_needs_a_person_whatever_runs():
    assert needs(State.AWAITING_REVIEW, State.APPLIED, locked=True) == (Need.LOCKED, Need.REVIEW)
    assert needs(None, State.OUTCOME_UNKNOWN, locked=True) == (Need.LOCKED,)
    assert needs(None, None, locked=False) == ()


def test_states_may_be_given_as_the_words_that_the_api_has():
    assert needs("blocked", "apply_failed", locked=False) == (Need.BLOCKED,)
    assert needs(None, "apply_failed", locked=False) == (Need.FAILED,)
    assert needs("waiting_for_the_moon", None, locked=False) == ()
