"""No step of a state machine goes on with a deployment that somebody has cancelled."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_job, any_plan, deployment_in
from tests.unit.usecases.cancel_world import LATER, CancelWorld
from tidegate.deploys.reviews.request_review import request_review
from tidegate.deploys.rules.cancelling import cancelled
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.gates.wait_for_requirements import wait_for_requirements
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.dispatch_job import dispatch_job
from tidegate.jobs.evaluate_policies_of_plan import evaluate_plan
from tidegate.jobs.record_plan import record_plan
from tidegate.messages import (
    BeginJob,
    DispatchJob,
    EvaluatePlan,
    RecordPlan,
    RequestReview,
    WaitAtGate,
    WaitForRequirements,
)
from tidegate.rules.errors import DeploymentCancelled


@pytest.fixture
def world():
    return CancelWorld()


def begin(world, deployment, kind):
    begin_job(world.ports, BeginJob(deployment=deployment.id, phase=kind, attempt=1, tries=1))


def record(world, deployment):
    record_plan(world.ports, RecordPlan.model_validate({"deployment": deployment.id, "plan": any_plan()}))


def judge(world, deployment):
    evaluate_plan(world.ports, EvaluatePlan(deployment=deployment.id))


def review(world, deployment):
    request_review(world.ports, RequestReview(deployment=deployment.id, token="token"))


def gate(world, deployment):
    wait_at_gate(world.ports, WaitAtGate(deployment=deployment.id, token="token"))


def require(world, deployment):
    wait_for_requirements(world.ports, WaitForRequirements(deployment=deployment.id, token="token"))


STEPS = {
    "plan": (State.PLANNING, lambda world, one: begin(world, one, "plan")),
    "record": (State.PLANNING, record),
    "judge": (State.PLANNING, judge),
    "review": (State.AWAITING_REVIEW, review),
    "gate": (State.GATED, gate),
    "requirements": (State.AWAITING_REQUIREMENTS, require),
    "apply": (State.APPROVED, lambda world, one: begin(world, one, "apply")),
}


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "decided"])
@pytest.mark.parametrize("step", STEPS)
def test_no_step_is_taken_and_nothing_is_written(world, step, ended):
    state, take = STEPS[step]
    deployment = world.in_flight(deployment_in(state))
    if ended:
        world.cancel(deployment)
    else:
        world.deployments.save(cancelled(deployment, "reviewer", LATER))
    before, heard = world.now(deployment), list(world.audit.states)
    with pytest.raises(DeploymentCancelled):
        take(world, deployment)
    assert (world.now(deployment), world.audit.states) == (before, heard)


def test_a_review_that_is_cancelled_while_its_token_is_kept_waits_for_nobody(world):
    deployment = world.in_flight(deployment_in(State.AWAITING_REVIEW))

    class Cancelling(type(world.deployments)):
        def keep_review_token(self, *args):
            kept = super().keep_review_token(*args)
            world.cancel(deployment)
            return kept

    world.deployments.__class__ = Cancelling
    world.workflows.waiting.add("token")
    with pytest.raises(DeploymentCancelled):
        review(world, deployment)


@pytest.mark.parametrize("step", ["gate", "requirements"])
def test_a_gate_that_is_cancelled_while_its_token_is_kept_is_not_waited_at(world, step):
    state, take = STEPS[step]
    identifier = {"gate": "plan", "requirements": "requirements"}[step]
    deployment = world.in_flight(deployment_in(state, gate=Gate(identifier, NOW)))

    class Cancelling(type(world.deployments)):
        def keep_gate_token(self, *args):
            kept = super().keep_gate_token(*args)
            world.cancel(deployment)
            return kept

    world.deployments.__class__ = Cancelling
    with pytest.raises(DeploymentCancelled):
        take(world, deployment)


def test_a_job_of_a_cancelled_deployment_is_handed_over_to_nobody(world):
    deployment = world.planning(taken=False)
    world.cancel(deployment)
    with pytest.raises(DeploymentCancelled):
        dispatch_job(world.ports, DispatchJob(job=deployment.planned.job, token="token"))


def test_a_job_that_is_closed_for_another_reason_says_so(world):
    job = any_job()
    world.jobs.create(job)
    world.put(deployment_in(State.PLANNING))
    world.jobs.close(job.id)
    with pytest.raises(Exception, match="or the job was closed"):
        dispatch_job(world.ports, DispatchJob(job=job.id, token="token"))
