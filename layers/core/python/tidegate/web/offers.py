"""The actions that a page offers on a deployment, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.cancelling import can_be_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, can_be_retried
from tidegate.deploys.rules.queue import QueueHead, status_of
from tidegate.deploys.rules.requirements_gate import is_of_head, may_not_approve, waits
from tidegate.deploys.rules.rerun import attempt_refusal, state_refusal
from tidegate.deploys.rules.review import Answer, Followup, check_click, excluded, expires_at, needed_approvals
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.unapproved import asked_here
from tidegate.rules.access import Action
from tidegate.rules.decision import Decision
from tidegate.rules.timestamp import LONG_AGO
from tidegate.web.authorization import Access, Authorization

_NOT = Decision(False, "")


@dataclass(frozen=True, slots=True)
class ReviewOffer:
    """An open review: who may not approve, until when it waits, and how many people it needs."""

    approve: Decision
    expires: datetime
    excluded: tuple[str, ...]
    needed: int


@dataclass(frozen=True, slots=True)
class Offers:
    """A person's possible actions on a deployment, each with the reason if it is not possible."""

    reject: Decision = _NOT
    retry: Decision = _NOT
    override: Decision = _NOT
    unlock: Decision = _NOT
    review: ReviewOffer | None = None
    cancel: Decision = _NOT
    approve: Decision = _NOT
    rerun: Decision = _NOT


def offers(authorization: Authorization, access: Access, deployment: Deployment, head: QueueHead) -> Offers:
    """Return what to offer who looks at a deployment, whose queue's head is given. Raise ForgeUnavailable."""

    def may(action: Action) -> Decision:
        return authorization.shown(action, access.login, access.repository, deployment)

    is_reviewed, is_gated = deployment.state is State.AWAITING_REVIEW, deployment.state in WAITING
    lacks = waits(deployment)
    return Offers(
        may(Action.REVIEW) if is_reviewed or is_gated or lacks else _NOT,
        may(Action.APPLY) if deployment.state is State.BLOCKED and can_be_retried(deployment) else _NOT,
        authorization.operator(access.login, access.repository) if lacks else _NOT,
        unlocking(authorization, access, head),
        _review(deployment, access.login) if is_reviewed else None,
        may(Action.REVIEW) if can_be_cancelled(deployment) else _NOT,
        _approval(deployment, access.login) if lacks else _NOT,
        may(Action.APPLY) if _can_be_rerun(deployment, head) else _NOT,
    )


def _can_be_rerun(deployment: Deployment, head: QueueHead) -> bool:
    """Tell whether a deployment failed that is the last attempt of its root. A pull request's is not re-run."""
    refusal = state_refusal(deployment, only_failed=True) or attempt_refusal(
        deployment, status_of(head, deployment).attempted
    )
    return refusal is None and not is_of_head(deployment) and deployment.lineage.contained_by is None


def unlocking(authorization: Authorization, access: Access, head: QueueHead) -> Decision:
    """Return whether to offer that a queue is unlocked: only one that is locked."""
    if head.lock is None:
        return _NOT
    return authorization.shown(Action.UNLOCK, access.login, access.repository, head.queue)


def _approval(deployment: Deployment, login: str) -> Decision:
    """Return whether to offer to approve a deployment itself. Whose approval counts besides is found out once given."""
    if not asked_here(deployment):
        return _NOT
    refusal = may_not_approve(deployment, login)
    return Decision(not refusal, refusal)


def _review(deployment: Deployment, login: str) -> ReviewOffer | None:
    if deployment.review is None:
        return None
    verdict = check_click(deployment, Answer.APPROVE, login, LONG_AGO)
    approve = Decision(verdict.followup is not Followup.REFUSE, verdict.reason)
    until = expires_at(deployment.review)
    return ReviewOffer(approve, until, excluded(deployment), needed_approvals(deployment))
