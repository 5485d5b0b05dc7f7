"""Record a plan, and decide what it needs: nothing, policies, to wait for other stacks, a review, or the apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.review import Need, PlanVerdict, asked_for, judge_plan
from tidegate.messages import PlanRecorded, RecordPlan
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Announcements, Clock, Deployments
from tidegate.rules.errors import WrongState

#: The Terraform machine's word for a plan that waits for other stacks before anything else. An empty one need not.
GATE = "gate"
#: Its word for a plan that policy sets hold for. They have nothing to say of an empty one.
POLICIES = "policies"
_STATES = {Need.NOTHING: State.NO_CHANGES, Need.APPLY: State.APPROVED}


@dataclass(frozen=True, slots=True)
class PlanRecorder:
    """Records plans, and asks for the review that one needs: it is shown while what keeps its token may still start.

    Called again with the same plan, it changes nothing more and answers the same.

    ``give_back`` gives back the deployment's concurrency slot, once no job of it runs.
    """

    deployments: Deployments
    announcements: Announcements
    clock: Clock
    give_back: Callable[[str], object]

    def record(self, message: RecordPlan) -> PlanRecorded:
        """Store the plan and the decision, and give the runner's slot back.

        Raise WrongState when the deployment is not being planned, and DeploymentCancelled.
        """
        recorded = self._record(message)
        self.give_back(message.deployment)
        return recorded

    def _record(self, message: RecordPlan) -> PlanRecorded:
        deployment = not_cancelled(self.deployments.get(message.deployment))
        if not deployment.policy_sets or not message.plan.changes.any:
            return self.decide(deployment, message.plan)
        if deployment.state is State.PLANNING:
            planned = replace(deployment, plan=message.plan, verdicts=(), plan_digest="", changed_at=self.clock.now())
            self.deployments.save(planned)
        elif deployment.plan != message.plan:
            raise WrongState(deployment.id, deployment.state, "recording a plan")
        return PlanRecorded(next=POLICIES, reason="It is held against policies.")

    def decide(self, deployment: Deployment, plan: Plan) -> PlanRecorded:
        """Store and return what the deployment's plan needs, whatever policies say. Raise as ``record``."""
        verdict = judge_plan(deployment, plan)
        is_gated = bool(deployment.waits.apply_after) and verdict.next is not Need.NOTHING
        if deployment.state is State.PLANNING:
            deployment = self.deployments.save(self._planned(deployment, plan, verdict, is_gated=is_gated))
        elif deployment.plan != plan:
            raise WrongState(deployment.id, deployment.state, "recording a plan")
        if is_gated:  # The wait at the gate, which follows at once, is shown by itself.
            return PlanRecorded(next=GATE, reason="Other stacks are applied first.")
        self.announcements.changed(deployment)
        if verdict.next is Need.REVIEW:
            self.announcements.line_changed(deployment.queue)
        return PlanRecorded(next=verdict.next.value, reason=verdict.reason)

    def _planned(self, deployment: Deployment, plan: Plan, verdict: PlanVerdict, *, is_gated: bool) -> Deployment:
        at = self.clock.now()
        if is_gated:
            return replace(deployment, plan=plan, changed_at=at)
        if verdict.next is Need.REVIEW:
            return asked_for(deployment, plan, at)
        return replace(deployment.moved(_STATES[verdict.next], at, verdict.reason), plan=plan)
