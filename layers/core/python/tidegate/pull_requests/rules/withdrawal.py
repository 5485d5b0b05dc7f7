"""Deployments that are withdrawn because their pull request closed without a merge."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.requirements_gate import waits
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate

#: States in which a deployment can be withdrawn: nobody has approved it yet.
_BEFORE = frozenset({State.QUEUED, State.PLANNING, State.AWAITING_REVIEW, *WAITING})


def withdrawal(reference: str) -> str:
    """Return why deployments of a pull request, such as ``#12``, are withdrawn."""
    return f"{reference} was closed without a merge."


def may_be_withdrawn(deployment: Deployment) -> bool:
    """Tell whether a deployment is neither withdrawn nor approved nor applied."""
    gate, review = deployment.gate, deployment.review
    if waits(deployment):
        return not deployment.outcome.withdrawn
    if deployment.outcome.withdrawn or deployment.state not in _BEFORE:
        return False
    is_answered = review is not None and review.approved is not None
    return not is_answered and (gate is None or gate.next is not AfterGate.APPLY)


def is_waiting_for_people(deployment: Deployment) -> bool:
    """Tell whether a withdrawn deployment waits where it can be rejected."""
    if not deployment.outcome.withdrawn:
        return False
    if waits(deployment):
        return True
    if deployment.state in WAITING:
        return deployment.gate is not None and deployment.gate.next is None
    review = deployment.review
    return deployment.state is State.AWAITING_REVIEW and review is not None and review.approved is None
