"""What one deployment adds to the figures."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, any_deployment, any_plan
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.run_cost import RunCost
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.timeline import Step
from tidegate.insights.rules.ended import Result, ended

NO_RUNNERS = RunCost(None, None, 0)


def minutes(number):
    return NOW + timedelta(minutes=number)


def went(*steps, **values):
    """Return a deployment that was in these states, each from a minute on."""
    history = tuple(Step(state, minutes(minute)) for state, minute in steps)
    last = history[-1]
    first = {"requested_at": NOW, "plan": any_plan(), "plan_job": "network-plan-1"}
    return any_deployment(**{**first, "state": last.state, "changed_at": last.at, "history": history, **values})


APPLIED = (
    (State.QUEUED, 0),
    (State.PLANNING, 2),
    (State.AWAITING_REVIEW, 5),
    (State.APPROVED, 65),
    (State.APPLYING, 66),
    (State.APPLIED, 70),
)


def test_durations_are_those_of_the_timeline():
    one = ended(went(*APPLIED), NO_RUNNERS)
    assert (one.queue, one.review, one.run, one.lead) == (120, 3600, 7 * 60, 70 * 60)
    assert (one.at, one.root, one.stack, one.result) == (minutes(70), "network", "default", Result.APPLIED)


def test_a_plan_that_never_began_took_no_time_of_a_runner():
    one = ended(went((State.QUEUED, 0), (State.PLANNING, 2), (State.ENGINE_FAULT, 9), plan_job=None), NO_RUNNERS)
    assert (one.queue, one.run) == (9 * 60, None)


def test_the_times_of_providers_are_those_of_the_apply():
    aws = ProviderTime("hashicorp/aws", 3, 120, 86)
    assert ended(went(*APPLIED, providers=(aws,)), NO_RUNNERS).providers == (aws,)
    assert ended(went(*APPLIED), NO_RUNNERS).providers == ()


def test_what_did_not_happen_has_no_duration():
    one = ended(went((State.QUEUED, 0), (State.SUPERSEDED, 9)), NO_RUNNERS)
    assert (one.queue, one.review, one.run, one.lead, one.cost) == (None, None, None, None, 0)


def test_a_rerun_of_a_merge_counts_from_the_merge_and_one_of_a_manual_deployment_has_no_merge():
    rerun = {"trigger": Trigger.RERUN, "first_requested_at": minutes(-30)}
    assert ended(went(*APPLIED, **rerun), NO_RUNNERS).lead == 100 * 60
    assert ended(went(*APPLIED, **rerun, reruns_manual=True), NO_RUNNERS).lead is None
    assert ended(went(*APPLIED, trigger=Trigger.MANUAL), NO_RUNNERS).lead is None


@pytest.mark.parametrize("state", [state for state in State if is_final(state)])
def test_only_what_went_wrong_is_a_failure(state):
    failures = {State.PLAN_FAILED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN, State.ENGINE_FAULT}
    known = {State.APPLIED: Result.APPLIED, State.NO_CHANGES: Result.UNCHANGED} | dict.fromkeys(failures, Result.FAILED)
    assert ended(went((State.QUEUED, 0), (state, 1)), NO_RUNNERS).result == known.get(state, Result.OTHER)


def test_a_plan_that_policies_stop_is_no_failure():
    stopped = went((State.PLANNING, 0), (State.PLAN_FAILED, 1), error=POLICIES_REFUSED)
    assert ended(stopped, NO_RUNNERS).result is Result.OTHER


def test_a_merge_that_was_applied_before_was_not_attempted():
    merged = went((State.QUEUED, 0), (State.NO_CHANGES, 1), plan_job=None, reason="Applied before.")
    assert ended(merged, NO_RUNNERS).result is Result.OTHER


def test_the_team_is_that_of_the_tag():
    assert ended(went(*APPLIED, tags=("network", "team:sre", "team:web")), NO_RUNNERS).team == "sre"
    assert ended(went(*APPLIED), NO_RUNNERS).team == ""


def test_the_cost_is_that_of_its_runners():
    assert ended(went(*APPLIED), RunCost(60, 60, 1234)).cost == 1234
