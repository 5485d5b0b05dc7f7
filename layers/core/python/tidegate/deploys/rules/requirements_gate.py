"""The gate at which a deployment waits for its root's apply requirements."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.freeze import LONGEST_FREEZE_DAYS, MissingBeforeApply
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.reason import because
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import REVIEW_DAYS
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Approval, Gate, Override
from tidegate.policies.rules.requirements import Requirements

#: How long the Terraform machine waits for requirements (its TimeoutSeconds): through the longest freeze window, and as
#: long as for a review after it.
REQUIREMENTS_DAYS = LONGEST_FREEZE_DAYS + REVIEW_DAYS


def is_of_head(deployment: Deployment) -> bool:
    """Tell whether a pull request's head is deployed by hand; it is not on its base branch yet."""
    return deployment.request.pull_request is not None and deployment.request.trigger is Trigger.MANUAL


def demanded(deployment: Deployment) -> tuple[Requirements, ...]:
    """Return the requirements that apply to a deployment."""
    return tuple(each for each in deployment.settings.requires if each.demands)


def gate_id(deployment: Deployment) -> str:
    """Return the id of the gate: another one for each plan."""
    return f"{deployment.planned.plan.job}-requirements" if deployment.planned.plan else "requirements"


def waits(deployment: Deployment) -> bool:
    """Tell whether a deployment still waits for its requirements, without a decision."""
    gate = deployment.gate
    return deployment.state is State.AWAITING_REQUIREMENTS and gate is not None and gate.next is None


def expires_at(gate: Gate) -> datetime:
    """Return when the wait expires."""
    return gate.since + timedelta(days=REQUIREMENTS_DAYS)


def waiting(approved: Deployment, missing: MissingBeforeApply, at: datetime) -> Deployment:
    """Return the record of a deployment with missing requirements: it waits."""
    moved = approved.moved(State.AWAITING_REQUIREMENTS, at, _why(missing))
    return replace(
        moved,
        gate=Gate(gate_id(approved), at),
        requirements=replace(moved.requirements, missing=missing.sentences, frozen=missing.frozen),
    )


def looked_at(deployment: Deployment, missing: MissingBeforeApply, at: datetime) -> Deployment:
    """Return the record after a check at which requirements are still missing."""
    if not waits(deployment) or deployment.gate is None:
        return deployment
    found = replace(
        deployment, requirements=replace(deployment.requirements, missing=missing.sentences, frozen=missing.frozen)
    )
    if missing:
        return replace(found, reason=_why(missing))
    return replace(found, gate=replace(deployment.gate, next=AfterGate.APPLY, at=at))


def _why(missing: MissingBeforeApply) -> str:
    if missing.frozen:
        return f"{missing.frozen}. It continues automatically."
    return "The apply requirements of its root are not met yet."


def may_not_approve(deployment: Deployment, by: str) -> str:
    """Return why a person's approval of the deployment would not count; empty if it may."""
    if any(each.by.casefold() == by.casefold() for each in deployment.requirements.approved_here):
        return f"{by} already approved this deployment. Another person must approve it, too."
    if by.casefold() in {login.casefold() for login in deployment.commits.authors}:
        return f"{by} authored, pushed or merged this change, so another person must approve it."
    return ""


def approved_here(deployment: Deployment, by: str, at: datetime, reason: str = "") -> Deployment:
    """Return the record of a deployment that somebody approves."""
    return replace(
        deployment,
        requirements=replace(
            deployment.requirements, approved_here=(*deployment.requirements.approved_here, Approval(by, at, reason))
        ),
    )


def overridden(deployment: Deployment, override: Override) -> Deployment:
    """Return the record of a deployment whose requirements an operator overrides."""
    passed = looked_at(deployment, MissingBeforeApply(), override.at)
    return replace(
        passed,
        requirements=replace(
            passed.requirements,
            override=override,
            missing=deployment.requirements.missing,
            frozen=deployment.requirements.frozen,
        ),
    )


def rejected(deployment: Deployment, gate: Gate, by: str, at: datetime, reason: str = "") -> Deployment:
    """Return the record of a deployment that ``by`` rejects: how it ends is decided."""
    told = because("It was rejected while it waited for its apply requirements.", reason)
    ending = Ending(State.REJECTED, deployment.outcome.withdrawn or told, "", "", at)
    return replace(
        deployment,
        gate=replace(gate, next=AfterGate.REJECTED, by=by, at=at, reason=reason),
        outcome=replace(deployment.outcome, ending=ending),
    )
