"""Notices: what there is to tell of a deployment, a drift schedule or a lock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.reason import MAXIMUM_REASON
from tidegate.deploys.rules.state import State
from tidegate.notifications.rules.subscription import NotificationKind
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.rules.shortened import shortened

#: Lines of details.
_MOST_DETAILS = 20

#: What a deployment's state means to people.
KINDS: Mapping[str, NotificationKind] = {
    State.AWAITING_REVIEW: NotificationKind.REVIEW_WAITS,
    State.PLAN_FAILED: NotificationKind.FAILED,
    State.APPLY_FAILED: NotificationKind.FAILED,
    State.ENGINE_FAULT: NotificationKind.FAILED,
    State.REVIEW_EXPIRED: NotificationKind.FAILED,
    State.GATE_EXPIRED: NotificationKind.FAILED,
    State.APPLIED: NotificationKind.APPLIED,
    State.OUTCOME_UNKNOWN: NotificationKind.OUTCOME_UNKNOWN,
}
#: What tells of a review that people can decide.
_OF_REVIEWS = frozenset({NotificationKind.REVIEW_WAITS, NotificationKind.REVIEW_EXPIRES_SOON})


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell. ``id`` is the same however often its event arrives.

    ``subject`` is a root's name, a drift schedule's or what is locked; ``group`` identifies the change, or the run,
    that it is part of. ``plan_text`` is the key of the plan's text. ``details`` are further lines. ``review`` is
    the id of the review that waits.
    """

    id: str
    kind: NotificationKind
    repository: str
    at: datetime
    subject: str
    group: str
    state: str = ""
    stack: str = ""
    sha: str = ""
    branch: str = ""
    deployment: str = ""
    by: str = ""
    reason: str = ""
    changes: PlannedChanges | None = None
    plan_text: str = ""
    details: tuple[str, ...] = ()
    review: str = ""


def notice_of(deployment: Deployment, kind: NotificationKind, at: datetime) -> Notice:
    """Return what there is to tell of a deployment that moved at this time."""
    plan = deployment.planned.plan
    return Notice(
        id=f"{deployment.id}/{kind}/{at:%Y%m%dT%H%M%S.%f}",
        kind=kind,
        repository=deployment.repository,
        at=at,
        subject=deployment.root.name,
        group=f"{deployment.repository}@{deployment.revision.sha}",
        state=deployment.state.value,
        stack=deployment.stack,
        sha=deployment.revision.sha,
        branch=deployment.revision.branch,
        deployment=deployment.id,
        by=deployment.request.by,
        reason=shortened(deployment.reason, MAXIMUM_REASON),
        changes=plan.changes if plan else None,
        plan_text=plan.text.key if plan else "",
        review=deployment.review.id if deployment.review and kind in _OF_REVIEWS else "",
    )


def details(lines: list[str]) -> tuple[str, ...]:
    """Return the first lines, and how many more there are."""
    more = len(lines) - _MOST_DETAILS
    return (*lines[:_MOST_DETAILS], *([f"{more} more"] if more > 0 else []))
