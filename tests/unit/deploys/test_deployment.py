from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, amended, any_deployment, any_job, deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.job import JobKind, job_id, log_key, plan_prefix
from tidegate.deploys.rules.state import State, ends_without_result, is_final, may_follow, moves_baseline, where_it_is
from tidegate.deploys.rules.timeline import Step

OPEN = {
    State.QUEUED,
    State.PLANNING,
    State.GATED,
    State.BLOCKED,
    State.AWAITING_REVIEW,
    State.APPROVED,
    State.AWAITING_REQUIREMENTS,
    State.APPLYING,
}


@pytest.mark.parametrize("state", State)
def test_a_deployment_has_ended_when_nothing_may_follow(state):
    assert is_final(state) is (state not in OPEN)
    assert any(may_follow(state, after) for after in State) is (state in OPEN)


def test_only_an_approved_deployment_is_applied():
    assert [before for before in State if may_follow(before, State.APPLYING)] == [State.APPROVED]
    assert [before for before in State if may_follow(before, State.APPLIED)] == [State.APPLYING]


@pytest.mark.parametrize("state", sorted(OPEN))
@pytest.mark.parametrize("taken", [True, False])
def test_every_open_state_can_end_without_a_result(state, taken):
    ending = deployment_in(state).ending_without_result("States.Timeout", NOW, apply_was_taken=taken)
    ended = deployment_in(state).ended(ending)
    assert (ended.outcome.ending, ended.error) == (ending, "States.Timeout")
    assert ended.state is ends_without_result(state, apply_was_taken=taken)
    assert "States.Timeout" in ended.reason
    assert ended.changed_at == NOW


def test_an_apply_that_a_runner_took_ends_as_unknown_and_no_other():
    assert ends_without_result(State.APPLYING, apply_was_taken=True) is State.OUTCOME_UNKNOWN
    assert ends_without_result(State.APPLYING, apply_was_taken=False) is State.ENGINE_FAULT
    assert ends_without_result(State.PLANNING, apply_was_taken=True) is State.ENGINE_FAULT


def test_an_end_without_any_error_says_so():
    assert "without a result" in any_deployment().ending_without_result(None, NOW, apply_was_taken=False).reason


def test_the_timeline_begins_when_it_was_asked_for_and_names_every_step():
    begun = any_deployment().begun()
    assert begun.history == (Step(State.QUEUED, begun.request.at, "maintainer"),)
    assert begun.begun() == begun
    moved = begun.moved(State.REFUSED, NOW, "It is behind.")
    assert moved.history[1:] == (Step(State.REFUSED, NOW, "", "It is behind."),)


def test_a_step_that_may_not_be_is_refused():
    with pytest.raises(ValueError, match="cannot go from applied to planning"):
        deployment_in(State.APPLIED).moved(State.PLANNING, NOW)


def test_a_failed_apply_moves_the_baseline_and_a_failed_plan_does_not():
    assert moves_baseline(State.APPLY_FAILED)
    assert not moves_baseline(State.PLAN_FAILED)


def test_a_job_is_named_after_its_deployment():
    assert job_id("network-1", JobKind.PLAN, 2) == "network-1-plan-2"
    assert (log_key("j"), plan_prefix("j")) == ("logs/j.txt", "plans/j")
    assert any_job().id.startswith(any_deployment().id)


def test_a_queue_is_named_after_repository_and_root():
    assert any_deployment().queue == "acme/infra||network"


@pytest.mark.parametrize("state", State)
def test_a_sentence_says_where_a_deployment_is_or_how_it_ended(state):
    words = where_it_is(state)
    assert words.startswith("has ended (" if is_final(state) else "is ")
    assert "_" not in words


def steps(*states):
    return tuple(Step(state, NOW) for state in states)


@pytest.mark.parametrize(
    ("job", "waits", "went", "shown"),
    [
        (None, Waits(plan_after=("dev",)), "queued planning gated blocked rejected", "queued gated blocked rejected"),
        ("plan-1", Waits(plan_after=("dev",)), "queued planning gated planning", "queued gated planning"),
        ("plan-1", Waits(apply_after=("dev",)), "queued planning gated planning", "queued planning gated planning"),
        (None, Waits(), "queued planning cancelled", "queued cancelled"),
        (None, Waits(), "queued planning", "queued planning"),
        (None, Waits(), "", ""),
    ],
)
def test_the_timeline_tells_of_no_plan_that_never_began(job, waits, went, shown):
    one = amended(any_deployment(), waits=waits)
    one = replace(one, history=steps(*map(State, went.split())), planned=replace(one.planned, job=job))
    assert " ".join(step.state for step in one.timeline) == shown
