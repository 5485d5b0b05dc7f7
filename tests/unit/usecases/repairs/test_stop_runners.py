from __future__ import annotations

import pytest

from tests.builders import any_job, any_layer, deployment_in
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.runner_task import RunnerTask
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.reconciler.stop_runners import stop_runners
from tidegate.rules.errors import CloudUnavailable


def run(world, job, task="arn:task/1"):
    """Let a task run for ten minutes that has taken this job, where there is one."""
    world.runners.tasks.append(RunnerTask(task, job, world.clock.now()))
    world.clock.advance(600)


def take(world, owner, kind, task="arn:task/1"):
    job = any_job(kind, id=job_id(owner, kind, 1))
    world.jobs.create(job)
    world.jobs.hand_over(job.id, "token", "clone")
    world.jobs.take(job.id, task)
    run(world, job.id, task)
    return job.id


@pytest.mark.parametrize("state", [State.PLAN_FAILED, State.AWAITING_REVIEW])
def test_a_runner_goes_on_after_its_plan_was_given_up_and_is_stopped(world, state):
    deployment = world.put(deployment_in(state))
    take(world, deployment.id, JobKind.PLAN)
    assert world.take_turn(stop_runners) == 1
    assert set(world.runners.stopped) == {"arn:task/1"}
    assert world.take_turn(stop_runners) == 0


def test_a_runner_whose_deployment_is_gone_is_stopped(world):
    take(world, "gone", JobKind.PLAN)
    assert world.take_turn(stop_runners) == 1


def test_runners_of_plans_that_are_waited_for_and_of_applies_go_on(world):
    name = deployment_in(State.PLANNING).id
    world.put(deployment_in(State.PLANNING, plan_job=job_id(name, JobKind.PLAN, 1)))
    take(world, name, JobKind.PLAN)
    layer = any_layer(state=LayerState.PLANNING, job=job_id(any_layer().id, JobKind.SPECULATE, 1))
    world.speculative_plans.create([layer])
    take(world, layer.id, JobKind.SPECULATE, "arn:task/2")
    take(world, "lost", JobKind.APPLY, "arn:task/3")
    assert world.take_turn(stop_runners) == 0


@pytest.mark.parametrize("job", ["network-plan-1", "no job at all"])
def test_a_runner_without_a_job_is_stopped(world, job):
    run(world, job)
    assert world.take_turn(stop_runners) == 1


def test_the_runner_of_a_layer_that_was_cancelled_is_stopped(world):
    job = job_id(any_layer().id, JobKind.SPECULATE, 1)
    world.speculative_plans.create([any_layer(state=LayerState.CANCELLED, job=job)])
    take(world, any_layer().id, JobKind.SPECULATE)
    assert world.take_turn(stop_runners) == 1


def test_a_runner_that_cannot_be_stopped_keeps_no_other_from_it(world):
    run(world, "gone-plan-1", "arn:task/1")
    run(world, "gone-plan-2", "arn:task/2")
    world.runners.refusals = 1
    assert world.take_turn(stop_runners) == 1
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]
    assert world.take_turn(stop_runners) == 1
