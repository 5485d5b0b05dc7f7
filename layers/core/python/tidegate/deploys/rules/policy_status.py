"""Policy sets of deployments' plans, which are evaluated before review and apply."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.deploys.rules.approval import Standing
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.policies.rules.policy import PolicyVerdict

#: Error name of a deployment whose plan policies refuse.
POLICIES_REFUSED = "PoliciesRefused"
#: Sets that a sentence tells of, and letters of what each says.
_NAMED, _CHARACTERS = 3, 200


def as_layer(deployment: Deployment) -> SpeculativePlan:
    """Return a deployment's plan as a pull request's layer, for the status of its policy sets."""
    return SpeculativePlan(
        deployment.id,
        deployment.repository,
        deployment.request.pull_request or 0,
        deployment.root,
        deployment.revision.sha,
        deployment.request.base_sha,
        stack=deployment.stack,
        state=LayerState.PLANNED,
        plan=deployment.planned.plan,
        policy_sets=deployment.policies.sets,
        verdicts=deployment.policies.verdicts,
    )


def refusal(blocking: Sequence[Standing]) -> str:
    """Return why sets refuse a plan, in plain sentences: which set, which rule, and how many owners must approve."""
    said = [_said(each) for each in blocking[:_NAMED]]
    more = len(blocking) - _NAMED
    return " ".join([*said, f"Other policy sets block it, too: {more}."] if more > 0 else said)


def _said(standing: Standing) -> str:
    held, failing = standing.policy_set, [verdict for _, verdict in standing.judged if verdict.failed]
    if not failing:
        return f"Policy set {held.name} has not evaluated this plan."
    given = (
        f"{len(standing.approved_by)} of {standing.needed} approvals by its owners"
        if held.owners
        else "no owners who can approve it"
    )
    return f"Policy set {held.name} blocks this plan{by_what(failing[0])}. It has {given}."


def by_what(verdict: PolicyVerdict) -> str:
    """Return the first refusal of a plan: a rule, its resource and what it says, or why the set has no verdict."""
    if verdict.error:
        return f": {verdict.error[:_CHARACTERS].rstrip('.')}"
    first = next(each for each in verdict.findings if each.blocks)
    about = f" ({first.address[:_CHARACTERS]})" if first.address else ""
    return f" by {first.rule}{about}: {first.message[:_CHARACTERS].rstrip('.')}"
