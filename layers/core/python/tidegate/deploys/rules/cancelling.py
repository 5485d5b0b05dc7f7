"""Cancelling: may a deployment be cancelled, and what is the next step?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.outcome import Cancellation, Ending
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.state import State, is_final, where_it_is
from tidegate.deploys.texts.advice import advice_on
from tidegate.rules.errors import DeploymentCancelled

#: What cancelling an apply may do: shown beside the button, wherever it can be requested.
APPLY_WARNING = (
    "Interrupting stops the engine in the middle of its work. Changes that it has already made remain, so the "
    "state may be partly changed."
)


class CancelStep(StrEnum):
    """The next step of a cancellation."""

    END = "end"
    INTERRUPT = "interrupt"
    GO_ON = "go on"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class CancelVerdict:
    """The next step, or why there is none."""

    step: CancelStep
    reason: str = ""


def check_cancelling(deployment: Deployment, *, is_apply: bool) -> CancelVerdict:
    """Decide the next step of a cancellation; ``is_apply`` tells that the request includes a running apply.

    A cancelled deployment continues to be cancelled: an earlier call may have died half-way.
    """
    if is_cancelled(deployment):
        return CancelVerdict(CancelStep.GO_ON)
    if is_final(deployment.state) or deployment.outcome.ending is not None:
        state = deployment.outcome.ending.state if deployment.outcome.ending else deployment.state
        return _refused(f"This deployment {where_it_is(state)}, so there is nothing to cancel. {advice_on(deployment)}")
    if deployment.state is not State.APPLYING:
        return CancelVerdict(CancelStep.END)
    if deployment.outcome.cancelled is not None:
        return CancelVerdict(CancelStep.GO_ON)
    if not is_apply:
        return _refused(
            f"This deployment is being applied, so it was not cancelled. {APPLY_WARNING} To interrupt the apply "
            "anyway, cancel the deployment with --apply."
        )
    return CancelVerdict(CancelStep.INTERRUPT)


def can_be_cancelled(deployment: Deployment) -> bool:
    """Tell whether somebody may still cancel the deployment, or interrupt its apply."""
    step = check_cancelling(deployment, is_apply=True).step
    return step in {CancelStep.END, CancelStep.INTERRUPT}


def is_cancelled(deployment: Deployment) -> bool:
    """Tell whether the deployment is decided to end as cancelled."""
    return deployment.outcome.ending is not None and deployment.outcome.ending.state is State.CANCELLED


def not_cancelled(deployment: Deployment) -> Deployment:
    """Return the deployment. Raise DeploymentCancelled for one that somebody has cancelled."""
    if is_cancelled(deployment):
        raise DeploymentCancelled(deployment.id)
    return deployment


def cancelled(deployment: Deployment, by: str, at: datetime) -> Deployment:
    """Return the record that ends as cancelled; the audit topic has not received it yet."""
    told = deployment.outcome.cancelled or Cancellation(by, at)
    return replace(
        deployment,
        outcome=replace(deployment.outcome, cancelled=told, ending=Ending(State.CANCELLED, _reason(told), "", "", at)),
    )


def interrupted(deployment: Deployment, by: str, at: datetime) -> Deployment:
    """Return the record of a deployment whose apply is to be interrupted."""
    return replace(deployment, outcome=replace(deployment.outcome, cancelled=Cancellation(by, at)), changed_at=at)


def answer_given(deployment: Deployment) -> str:
    """Return the answer to a person who cancels a deployment."""
    by = deployment.outcome.cancelled
    if by is None:
        raise ValueError(f"{deployment.id} is not cancelled")
    if is_cancelled(deployment):
        return f"{by.by} cancelled this deployment on {moment(by.at)}. Nothing was applied."
    return (
        f"{by.by} interrupted the apply on {moment(by.at)}. {APPLY_WARNING} The result appears here once the "
        "engine has stopped."
    )


def _reason(by: Cancellation) -> str:
    return f"{by.by} cancelled it on {moment(by.at)}."


def _refused(reason: str) -> CancelVerdict:
    return CancelVerdict(CancelStep.REFUSE, reason.rstrip())
