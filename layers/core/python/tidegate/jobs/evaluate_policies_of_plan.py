"""Evaluate the policy verdicts on a deployment's plan: may it be reviewed and applied?

A repeated call returns the same.
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

#: The Terraform machine's word for a plan that policies refuse.
REFUSED = "refused"


def evaluate_plan(ports: Ports, message: EvaluatePlan) -> PlanRecorded:
    """Return, and store, what the plan needs; or that it is refused, and why.

    A set that refuses the plan lets it pass once enough of its owners approve the applied commit. Raise WrongState
    without a plan, DeploymentCancelled, ForgeUnavailable and ForgeRefused.
    """
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    if deployment.planned.plan is None:
        raise WrongState(deployment.id, deployment.state, "evaluating policies")
    # A deployment without a pull request waits for missing approvals before its apply. One that is past planning passed
    # earlier; this call is a repetition.
    if deployment.state is State.PLANNING and deployment.request.pull_request is not None:
        blocking = [each for each in _standings(ports, deployment) if each.blocks]
        if blocking:
            return PlanRecorded(next=REFUSED, reason=refusal(blocking))
    return decide_plan(ports, deployment, deployment.planned.plan)


def _standings(ports: Ports, deployment: Deployment) -> Sequence[Standing]:
    """Return the status of the sets: the pull request may have another head or base branch by now.

    If the head is not merged with its base, the base branch decides.
    """
    found = _spec(ports, deployment)
    base = deployment.request.base_sha or found.base
    spec = replace(found, head_sha=deployment.revision.sha, base_sha=base)
    return evaluate_policies(ports, spec, [as_layer(deployment)])


def _spec(ports: Ports, deployment: Deployment) -> PullRequestSpec:
    """Return the pull request from its record, which may be missing if it is older than the installation."""
    number = deployment.request.pull_request or 0
    found = ports.pull_requests.many([(deployment.repository, number)])
    if found:
        return found[0].spec
    return ports.pull_request_reader.seen_pull_request(deployment.repository, number).spec
