from __future__ import annotations

import pytest

from tests.builders import any_job, any_layer, any_replay_job, deployment_in
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.runner_task import SPARE_SECONDS, RunnerTask
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.reconciler.stop_runners import stop_runners
from tidegate.rules.errors import CloudUnavailable


def run(scenario, job, task="arn:task/1"):
    """Let a task run for ten minutes that has taken this job, where there is one."""
    scenario.runners.tasks.append(RunnerTask(task, job, scenario.clock.now()))
    scenario.clock.advance(600)


def take(scenario, owner, kind, task="arn:task/1"):
    job = any_job(kind, id=job_id(owner, kind, 1))
    scenario.jobs.create(job)
    scenario.jobs.hand_over(job.id, "token", "clone")
    scenario.jobs.take(job.id, task)
    run(scenario, job.id, task)
    return job.id


@pytest.mark.parametrize("state", [State.PLAN_FAILED, State.AWAITING_REVIEW])
def test_a_runner_goes_on_after_its_plan_was_given_up_and_is_stopped(scenario, state):
    deployment = scenario.put(deployment_in(state))
    take(scenario, deployment.id, JobKind.PLAN)
    assert scenario.take_turn(stop_runners) == 1
    assert set(scenario.runners.stopped) == {"arn:task/1"}
    assert scenario.take_turn(stop_runners) == 0


def test_a_runner_whose_deployment_is_gone_is_stopped(scenario):
    take(scenario, "gone", JobKind.PLAN)
    assert scenario.take_turn(stop_runners) == 1


def test_runners_of_plans_that_are_waited_for_and_of_applies_go_on(scenario):
    name = deployment_in(State.PLANNING).id
    scenario.put(deployment_in(State.PLANNING, plan_job=job_id(name, JobKind.PLAN, 1)))
    take(scenario, name, JobKind.PLAN)
    layer = any_layer(state=LayerState.PLANNING, job=job_id(any_layer().id, JobKind.SPECULATE, 1))
    scenario.speculative_plans.create([layer])
    take(scenario, layer.id, JobKind.SPECULATE, "arn:task/2")
    take(scenario, "lost", JobKind.APPLY, "arn:task/3")
    take(scenario, "lost", JobKind.TASK, "arn:task/4")
    assert scenario.take_turn(stop_runners) == 0


@pytest.mark.parametrize("job", ["network-plan-1", "no job at all"])
def test_a_runner_without_a_job_is_stopped(scenario, job):
    run(scenario, job)
    assert scenario.take_turn(stop_runners) == 1


def test_the_runner_of_a_layer_that_was_cancelled_is_stopped(scenario):
    job = job_id(any_layer().id, JobKind.SPECULATE, 1)
    scenario.speculative_plans.create([any_layer(state=LayerState.CANCELLED, job=job)])
    take(scenario, any_layer().id, JobKind.SPECULATE)
    assert scenario.take_turn(stop_runners) == 1


def test_a_runner_that_cannot_be_stopped_keeps_no_other_from_it(scenario):
    run(scenario, "gone-plan-1", "arn:task/1")
    run(scenario, "gone-plan-2", "arn:task/2")
    scenario.runners.refusals = 1
    assert scenario.take_turn(stop_runners) == 1
    assert [type(failure) for failure in scenario.failures] == [CloudUnavailable]
    assert scenario.take_turn(stop_runners) == 1


def test_the_runner_of_a_replay_goes_on_until_its_time_limit(scenario):
    job = any_replay_job()
    scenario.jobs.create(job)
    run(scenario, job.id)
    assert scenario.take_turn(stop_runners) == 0
    scenario.clock.advance(job.seconds + SPARE_SECONDS)
    assert scenario.take_turn(stop_runners) == 1
