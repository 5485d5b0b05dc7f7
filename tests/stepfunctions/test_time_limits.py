"""Each time limit really runs out, with a short limit in its place: what is tried again, and what never is.

What the executions go through then is in the cases and stories; here is what they are about.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from tests.stepfunctions.plays import CASE_PLAYS, STORY_PLAYS
from tidegate.deploys.rules.deployment import State

pytestmark = [pytest.mark.nightly, pytest.mark.cloud]

HEARTBEAT, TIMEOUT = "States.HeartbeatTimeout", "States.Timeout"
CASES = {case.name: play for case, play in CASE_PLAYS}
STORIES = {play.name: play for play in STORY_PLAYS}


@dataclass(frozen=True)
class Limit:
    """A case in which a limit runs out: how the deployment ends, and how many runners each job had."""

    case: str
    state: State
    error: str
    runners: dict[str, int]

    def __str__(self) -> str:
        return self.case


LIMITS = [
    Limit("plan-never-starts", State.ENGINE_FAULT, TIMEOUT, {"plan-1": 3, "plan-2": 0}),
    Limit("silent-in-plan-once-plan-is-empty", State.NO_CHANGES, "", {"plan-1": 1, "plan-2": 1}),
    Limit("hangs-in-plan-once-plan-is-empty", State.NO_CHANGES, "", {"plan-1": 1, "plan-2": 1}),
    Limit("review-expires", State.REVIEW_EXPIRED, TIMEOUT, {"plan-1": 1, "apply-1": 0}),
    Limit("gate-expires-before-the-plan", State.GATE_EXPIRED, TIMEOUT, {"plan-1": 0}),
    Limit("gate-expires-before-the-apply", State.GATE_EXPIRED, TIMEOUT, {"plan-1": 1, "apply-1": 0}),
    Limit("plan-only-adds-requirements-expire", State.GATE_EXPIRED, TIMEOUT, {"plan-1": 1, "apply-1": 0}),
    Limit("plan-only-adds-apply-never-starts", State.ENGINE_FAULT, TIMEOUT, {"apply-1": 3, "apply-2": 0}),
    Limit("plan-only-adds-hangs-in-apply", State.OUTCOME_UNKNOWN, TIMEOUT, {"apply-1": 1, "apply-2": 0}),
    Limit("never-ends", State.ENGINE_FAULT, TIMEOUT, {"plan-1": 1, "apply-1": 0}),
]

FAILURES = [
    Limit("plan-fails", State.PLAN_FAILED, "TerraformClientError", {"plan-1": 1, "plan-2": 0}),
    Limit("plan-faults", State.ENGINE_FAULT, "RunnerFault", {"plan-1": 1, "plan-2": 1, "plan-3": 1, "plan-4": 0}),
    Limit("plan-only-adds-apply-fails", State.APPLY_FAILED, "TerraformClientError", {"apply-1": 1, "apply-2": 0}),
    Limit("plan-only-adds-dies-in-apply", State.OUTCOME_UNKNOWN, "RunnerStopped", {"apply-1": 1, "apply-2": 0}),
]


def ended(stage, world, limit: Limit) -> None:
    """Play a case, and look at its record and its runners."""
    stage.start(CASES[limit.case]).result()
    root = world.root(limit.case)
    record = root.record(root.deployment())
    assert (record.state, record.error) == (limit.state, limit.error)
    assert {job: root.runners(f"{record.id}-{job}") for job in limit.runners} == limit.runners


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_a_limit_that_runs_out_ends_or_repeats_as_it_should(stage, world, limit):
    ended(stage, world, limit)


@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_a_failed_plan_of_the_engine_and_any_apply_are_never_tried_again(stage, world, failure):
    ended(stage, world, failure)


def test_an_apply_without_a_heartbeat_is_unknown_and_not_tried_again(stage, world):
    stage.start(STORIES["an_apply_that_falls_silent_locks_the_queue_until_somebody_unlocks_it"]).result()
    root = world.root("plan-only-adds-silent-in-apply-once")
    record = root.record(root.deployment())
    assert (record.state, record.error) == (State.OUTCOME_UNKNOWN, HEARTBEAT)
    assert root.runners(f"{record.id}-apply-1") == 1


def test_a_quiet_queue_closes_after_its_time(stage, world):
    stage.start(STORIES["a_quiet_queue_is_closed_and_opened_again"]).result()
    assert world.root("idle-plan-is-empty").head().worker is None


def test_an_execution_hands_over_at_its_limit_of_rounds(stage, world):
    stage.start(STORIES["after_many_rounds_a_new_execution_takes_over"]).result()
    assert world.root("hands-over-plan-is-empty").head().generation == 2


def test_the_runner_of_a_plan_that_was_given_up_is_stopped(stage, world):
    stage.start(CASES["silent-in-plan-once-plan-is-empty"]).result()
    root = world.root("silent-in-plan-once-plan-is-empty")
    job = f"{root.deployment().id}-plan-1"
    tasks = [task for task in world.cloud.read("tasks") if f'"value": "{job}"' in json.dumps(task["overrides"])]
    assert [(task["stopCode"], job in task["stoppedReason"]) for task in tasks] == [("UserInitiated", True)]
