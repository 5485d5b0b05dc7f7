"""Judge the plan of a deployment that was evaluated by policy sets: may it be reviewed and applied?

Once more answers the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tidegate.deploys.rules.approval import Standing
from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.policy_status import as_layer, refusal
from tidegate.deploys.rules.state import State
from tidegate.jobs.record_plan import decide_plan
from tidegate.messages import EvaluatePlan, PlanRecorded
from tidegate.ports import Ports
from tidegate.pull_requests.evaluate_policies import evaluate_policies
from tidegate.rules.errors import WrongState
from tidegate.vcs.rules.pull_request import PullRequestSpec

#: The Terraform machine's word for a plan that policies do not let pass.
REFUSED = "refused"


def evaluate_plan(ports: Ports, message: EvaluatePlan) -> PlanRecorded:
    """Return, and store, what the plan needs; or that it is refused, and why.

    A set that refuses the plan lets it pass once enough of its owners approve the commit that is applied. Raise
    WrongState where there is no plan, DeploymentCancelled, ForgeUnavailable and ForgeRefused.
    """
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    if deployment.planned.plan is None:
        raise WrongState(deployment.id, deployment.state, "evaluating policies")
    # What is no pull request's waits before its apply for the approvals that it lacks. What is not planned any
    # more was let pass before, and this call comes again.
    if deployment.state is State.PLANNING and deployment.request.pull_request is not None:
        blocking = [each for each in _standings(ports, deployment) if each.blocks]
        if blocking:
            return PlanRecorded(next=REFUSED, reason=refusal(blocking))
    return decide_plan(ports, deployment, deployment.planned.plan)


def _standings(ports: Ports, deployment: Deployment) -> Sequence[Standing]:
    """Return where the sets stand: the pull request may have another head by now, and be of another base branch.

    What a head is not merged with is told by the branch that it goes to.
    """
    found = _spec(ports, deployment)
    base = deployment.request.base_sha or found.base
    spec = replace(found, head_sha=deployment.revision.sha, base_sha=base)
    return evaluate_policies(ports, spec, [as_layer(deployment)])


def _spec(ports: Ports, deployment: Deployment) -> PullRequestSpec:
    """Return the pull request as its record has it. One that opened before Tidegate came may have none."""
    number = deployment.request.pull_request or 0
    found = ports.pull_requests.many([(deployment.repository, number)])
    if found:
        return found[0].spec
    return ports.pull_request_reader.seen_pull_request(deployment.repository, number).spec
