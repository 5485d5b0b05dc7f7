"""Record a plan, and decide its next step: nothing to do, policy checks, a dependency gate, a review, or the apply.

A repeated call with the same plan changes nothing and returns the same.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import Need, PlanVerdict, asked_for, evaluate_plan
from tidegate.deploys.rules.state import State
from tidegate.deploys.slots.keep_slots import release_slot
from tidegate.messages import PlanRecorded, RecordPlan
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Ports
from tidegate.rules.errors import WrongState

#: The Terraform machine's word for a plan that first waits for dependencies. A plan without changes need not.
GATE = "gate"
#: Its word for a plan that policy sets must evaluate. They do not evaluate plans without changes.
POLICIES = "policies"
_STATES = {Need.NOTHING: State.NO_CHANGES, Need.APPLY: State.APPROVED}


def record_plan(ports: Ports, message: RecordPlan) -> PlanRecorded:
    """Store the plan and the decision, and release the runner's slot.

    Raise WrongState if the deployment is not planning, and DeploymentCancelled.
    """
    recorded = _record(ports, message)
    release_slot(ports, message.deployment)
    return recorded


def _record(ports: Ports, message: RecordPlan) -> PlanRecorded:
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    if not deployment.policies.sets or not message.plan.changes.any:
        return decide_plan(ports, deployment, message.plan)
    if deployment.state is State.PLANNING:
        planned = replace(
            deployment,
            planned=replace(deployment.planned, plan=message.plan, digest=""),
            policies=replace(deployment.policies, verdicts=()),
            changed_at=ports.clock.now(),
        )
        ports.deployments.save(planned)
    elif deployment.planned.plan != message.plan:
        raise WrongState(deployment.id, deployment.state, "recording a plan")
    return PlanRecorded(next=POLICIES, reason="Its policies are evaluated.")


def decide_plan(ports: Ports, deployment: Deployment, plan: Plan) -> PlanRecorded:
    """Store and return the plan's next step, apart from policies. Raise as ``record_plan``."""
    verdict = evaluate_plan(deployment, plan)
    is_gated = deployment.change.waits_before_apply and verdict.next is not Need.NOTHING
    if deployment.state is State.PLANNING:
        deployment = ports.deployments.save(_planned(ports, deployment, plan, verdict, is_gated=is_gated))
    elif deployment.planned.plan != plan:
        raise WrongState(deployment.id, deployment.state, "recording a plan")
    if is_gated:  # The wait at the gate follows immediately and is published there.
        return PlanRecorded(next=GATE, reason="Its stack's rules come first.")
    ports.event_publisher.changed(deployment)
    if verdict.next is Need.REVIEW:
        ports.event_publisher.queue_changed(deployment.queue)
    return PlanRecorded(next=verdict.next.value, reason=verdict.reason)


def _planned(ports: Ports, deployment: Deployment, plan: Plan, verdict: PlanVerdict, *, is_gated: bool) -> Deployment:
    at, planned = ports.clock.now(), replace(deployment.planned, plan=plan)
    if is_gated:
        return replace(deployment, planned=planned, changed_at=at)
    if verdict.next is Need.REVIEW:
        return asked_for(deployment, plan, at)
    return replace(deployment.moved(_STATES[verdict.next], at, verdict.reason), planned=planned)
