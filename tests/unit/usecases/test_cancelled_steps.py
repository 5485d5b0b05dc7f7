"""No step of a state machine goes on with a deployment that somebody has cancelled."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_job, any_plan, deployment_in, no_tokens
from tests.unit.usecases.cancel_world import LATER, CancelWorld
from tidegate.deploys.reviews.request_review import ReviewRequester
from tidegate.deploys.rules.cancelling import cancelled
from tidegate.deploys.rules.deployment import Gate, State
from tidegate.gates.judge_gate import GateJudge
from tidegate.gates.wait_at_gate import GateWaiter
from tidegate.gates.wait_for_requirements import RequirementsGate
from tidegate.jobs.begin_job import JobBeginner
from tidegate.jobs.hand_over_job import JobHandover
from tidegate.jobs.judge_held_plan import HeldPlanJudge
from tidegate.jobs.record_plan import PlanRecorder
from tidegate.messages import BeginJob, HandOverJob, JudgePlan, RecordPlan, RequestReview, WaitAtGate
from tidegate.messages import WaitForRequirements as Required
from tidegate.pull_requests.judge_policies import PolicyJudge
from tidegate.rules.errors import DeploymentCancelled


@pytest.fixture
def world():
    return CancelWorld()


def begin(world, deployment, kind):
    gates = GateJudge(world.deployments, world.change_sets)
    ports = world.forge, world.audit, world.announcements, world.clock, gates
    beginner = JobBeginner(
        world.deployments, world.jobs, *ports, world.stopper.stop, world.requirements, world.branches, world.slots
    )
    beginner.begin(BeginJob(deployment=deployment.id, phase=kind, attempt=1, tries=1))


def recorder(world):
    return PlanRecorder(world.deployments, world.announcements, world.clock, world.slots.give_back)


def record(world, deployment):
    recorder(world).record(RecordPlan.model_validate({"deployment": deployment.id, "plan": any_plan()}))


def judge(world, deployment):
    policies = PolicyJudge(world.forge)
    judge = HeldPlanJudge(world.deployments, world.pull_requests, policies, recorder(world))
    judge.judge(JudgePlan(deployment=deployment.id))


def review(world, deployment):
    requester = ReviewRequester(world.deployments, world.workflows, world.announcements, world.clock)
    requester.request(RequestReview(deployment=deployment.id, token="token"))


def gate(world, deployment):
    waiter = GateWaiter(world.deployments, world.change_sets, world.workflows, world.announcements, world.clock)
    waiter.wait(WaitAtGate(deployment=deployment.id, token="token"))


def require(world, deployment):
    waiter = RequirementsGate(world.deployments, world.requirements, world.workflows, world.announcements, world.clock)
    waiter.wait(Required(deployment=deployment.id, token="token"))


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
    handover = JobHandover(world.jobs, world.deployments, world.forge, no_tokens)
    with pytest.raises(DeploymentCancelled):
        handover.hand_over(HandOverJob(job=deployment.plan_job, token="token"))


def test_a_job_that_is_closed_for_another_reason_says_so(world):
    job = any_job()
    world.jobs.create(job)
    world.put(deployment_in(State.PLANNING))
    world.jobs.close(job.id)
    with pytest.raises(Exception, match="was taken by a runner before, or was closed"):
        JobHandover(world.jobs, world.deployments, world.forge, no_tokens).hand_over(
            HandOverJob(job=job.id, token="token")
        )
