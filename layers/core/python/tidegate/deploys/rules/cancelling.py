"""Cancelling: may a deployment be cancelled, and what follows for one that waits, plans or applies?"""

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

#: What cancelling an apply may do: said before it is done, and wherever it can be asked for.
APPLY_WARNING = (
    "Interrupting stops the engine in the middle of its work. Changes that it has already made remain, so the "
    "state may be partly changed."
)


class CancelStep(StrEnum):
    """What follows from somebody's wish to cancel a deployment."""

    END = "end"
    INTERRUPT = "interrupt"
    GO_ON = "go on"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class CancelVerdict:
    """What follows, and why nothing does."""

    step: CancelStep
    reason: str = ""


def check_cancelling(deployment: Deployment, *, is_apply: bool) -> CancelVerdict:
    """Decide what follows from a wish to cancel; ``is_apply`` tells that an apply is meant, too.

    What was cancelled before goes on being cancelled: whoever did so may have died before all was done.
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
    """Tell whether it is decided that the deployment ends as cancelled."""
    return deployment.outcome.ending is not None and deployment.outcome.ending.state is State.CANCELLED


def not_cancelled(deployment: Deployment) -> Deployment:
    """Return the deployment. Raise DeploymentCancelled for one that somebody has cancelled."""
    if is_cancelled(deployment):
        raise DeploymentCancelled(deployment.id)
    return deployment


def cancelled(deployment: Deployment, by: str, at: datetime) -> Deployment:
    """Return the record by which a deployment ends as cancelled: the audit topic has yet to hear of it."""
    told = deployment.outcome.cancelled or Cancellation(by, at)
    return replace(
        deployment,
        outcome=replace(deployment.outcome, cancelled=told, ending=Ending(State.CANCELLED, _reason(told), "", "", at)),
    )


def interrupted(deployment: Deployment, by: str, at: datetime) -> Deployment:
    """Return the record of a deployment whose apply somebody interrupts."""
    return replace(deployment, outcome=replace(deployment.outcome, cancelled=Cancellation(by, at)), changed_at=at)


def answer_given(deployment: Deployment) -> str:
    """Return what there is to say to who cancels a deployment that is cancelled now."""
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
