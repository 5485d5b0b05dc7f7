"""No step of a state machine goes on with a deployment that somebody has cancelled."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_job, any_plan, deployment_in
from tests.unit.deploys.cancel_scenario import LATER, CancelScenario
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
def scenario():
    return CancelScenario()


def begin(scenario, deployment, kind):
    begin_job(scenario.ports, BeginJob(deployment=deployment.id, phase=kind, attempt=1, tries=1))


def record(scenario, deployment):
    record_plan(scenario.ports, RecordPlan.model_validate({"deployment": deployment.id, "plan": any_plan()}))


def judge(scenario, deployment):
    evaluate_plan(scenario.ports, EvaluatePlan(deployment=deployment.id))


def review(scenario, deployment):
    request_review(scenario.ports, RequestReview(deployment=deployment.id, token="token"))


def gate(scenario, deployment):
    wait_at_gate(scenario.ports, WaitAtGate(deployment=deployment.id, token="token"))


def require(scenario, deployment):
    wait_for_requirements(scenario.ports, WaitForRequirements(deployment=deployment.id, token="token"))


STEPS = {
    "plan": (State.PLANNING, lambda scenario, one: begin(scenario, one, "plan")),
    "record": (State.PLANNING, record),
    "judge": (State.PLANNING, judge),
    "review": (State.AWAITING_REVIEW, review),
    "gate": (State.GATED, gate),
    "requirements": (State.AWAITING_REQUIREMENTS, require),
    "apply": (State.APPROVED, lambda scenario, one: begin(scenario, one, "apply")),
}


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "decided"])
@pytest.mark.parametrize("step", STEPS)
def test_no_step_is_taken_and_nothing_is_written(scenario, step, ended):
    state, take = STEPS[step]
    deployment = scenario.in_flight(deployment_in(state))
    if ended:
        scenario.cancel(deployment)
    else:
        scenario.deployments.save(cancelled(deployment, "reviewer", LATER))
    before, heard = scenario.now(deployment), list(scenario.audit.states)
    with pytest.raises(DeploymentCancelled):
        take(scenario, deployment)
    assert (scenario.now(deployment), scenario.audit.states) == (before, heard)


def test_a_review_that_is_cancelled_while_its_token_is_kept_waits_for_nobody(scenario):
    deployment = scenario.in_flight(deployment_in(State.AWAITING_REVIEW))

    class Cancelling(type(scenario.deployments)):
        def keep_review_token(self, *args):
            kept = super().keep_review_token(*args)
            scenario.cancel(deployment)
            return kept

    scenario.deployments.__class__ = Cancelling
    scenario.workflows.waiting.add("token")
    with pytest.raises(DeploymentCancelled):
        review(scenario, deployment)


@pytest.mark.parametrize("step", ["gate", "requirements"])
def test_a_gate_that_is_cancelled_while_its_token_is_kept_is_not_waited_at(scenario, step):
    state, take = STEPS[step]
    identifier = {"gate": "plan", "requirements": "requirements"}[step]
    deployment = scenario.in_flight(deployment_in(state, gate=Gate(identifier, NOW)))

    class Cancelling(type(scenario.deployments)):
        def keep_gate_token(self, *args):
            kept = super().keep_gate_token(*args)
            scenario.cancel(deployment)
            return kept

    scenario.deployments.__class__ = Cancelling
    with pytest.raises(DeploymentCancelled):
        take(scenario, deployment)


def test_a_job_of_a_cancelled_deployment_is_handed_over_to_nobody(scenario):
    deployment = scenario.planning(taken=False)
    scenario.cancel(deployment)
    with pytest.raises(DeploymentCancelled):
        dispatch_job(scenario.ports, DispatchJob(job=deployment.planned.job, token="token"))


def test_a_job_that_is_closed_for_another_reason_says_so(scenario):
    job = any_job()
    scenario.jobs.create(job)
    scenario.put(deployment_in(State.PLANNING))
    scenario.jobs.close(job.id)
    with pytest.raises(Exception, match="or the job was closed"):
        dispatch_job(scenario.ports, DispatchJob(job=job.id, token="token"))
