"""Plan reviews: does a plan need one, how long does it wait, and what follows from a press of a button?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.domain.check_run import Button
from tidegate.domain.deployment import Deployment, Plan, Review, State, Trigger

#: How long the Terraform machine waits for a review (its TimeoutSeconds): a week spans every holiday
#: weekend, and a plan that is older rarely fits the infrastructure any more.
REVIEW_DAYS = 7


class ReviewPolicy(StrEnum):
    """Which plans with changes wait for a person."""

    ALWAYS = "always"
    WHEN_NEEDED = "when_needed"


class Need(StrEnum):
    """What a plan needs next. The values are the Terraform machine's words."""

    NOTHING = "nothing"
    REVIEW = "review"
    APPLY = "apply"


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """What a plan needs next, and why."""

    next: Need
    reason: str


def judge_plan(deployment: Deployment, plan: Plan, policy: ReviewPolicy = ReviewPolicy.ALWAYS) -> PlanVerdict:
    """Decide what a plan needs.

    Every plan with changes waits for review by default. With ``WHEN_NEEDED`` it waits only if the
    revision demands it, it was asked for by hand, or it destroys or replaces anything.
    """
    if not plan.changes.any:
        return PlanVerdict(Need.NOTHING, "The plan has nothing to change.")
    if deployment.must_review:
        return PlanVerdict(Need.REVIEW, deployment.must_review)
    if policy is ReviewPolicy.ALWAYS:
        return PlanVerdict(Need.REVIEW, "Every plan with changes is reviewed.")
    if deployment.trigger is Trigger.MANUAL:
        return PlanVerdict(Need.REVIEW, "It was asked for by hand.")
    if plan.changes.destroy or plan.changes.replace:
        return PlanVerdict(Need.REVIEW, "It destroys or replaces resources.")
    return PlanVerdict(Need.APPLY, "It only adds and changes, and the policy asks for no review then.")


def review_id(deployment: Deployment, plan: Plan) -> str:
    """Return the id of the review of this plan: the same however often it is asked for."""
    return hashlib.sha256(f"{deployment.id}\0{plan.job}\0{plan.file.sha256}".encode()).hexdigest()[:20]


def expires_at(review: Review) -> datetime:
    """Return when nobody waits for the review's answer any more."""
    return datetime.fromisoformat(review.asked_at) + timedelta(days=REVIEW_DAYS)


class Followup(StrEnum):
    """What a press of Confirm or Reject leads to."""

    DECIDE = "decide"
    SETTLE_AGAIN = "settle again"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class PressVerdict:
    """What follows from a press, and why."""

    followup: Followup
    reason: str = ""


def judge_press(deployment: Deployment, button: Button, by: str, at: str) -> PressVerdict:
    """Decide about a press of Confirm or Reject by ``by``, received at ``at``.

    The same press again (a message that is delivered twice) has no effect of its own, but settles the
    review's token again, in case the first delivery died before it could.
    """
    review = deployment.review
    if review is not None and review.approved is not None:
        if (review.by, review.at, review.approved) == (by, at, button is Button.CONFIRM):
            return PressVerdict(Followup.SETTLE_AGAIN)
        done = "confirmed" if review.approved else "rejected"
        return PressVerdict(
            Followup.REFUSE, f"{review.by} {done} this plan before, on {moment(review.at or '')}. That decision stands."
        )
    if deployment.state is State.AWAITING_REVIEW and review is not None:
        return PressVerdict(Followup.DECIDE)
    if deployment.state is State.REVIEW_EXPIRED:
        return PressVerdict(
            Followup.REFUSE,
            f"The review expired after {REVIEW_DAYS} days, so nothing is applied any more. "
            "Merge a new revision to get a new plan.",
        )
    words = deployment.state.replace("_", " ")
    return PressVerdict(Followup.REFUSE, f"This deployment is {words} now and does not wait for a review.")


def decided(deployment: Deployment, button: Button, by: str, at: str) -> Deployment:
    """Return the deployment after its review was answered. Raise ValueError when it does not wait for one."""
    approved = button is Button.CONFIRM
    moved = deployment.moved(State.APPROVED if approved else State.REJECTED, at)
    if moved.review is None:
        raise ValueError(f"{deployment.id} waits for a review that was never asked for")
    return replace(moved, review=replace(moved.review, approved=approved, by=by, at=at))


def moment(at: str | datetime) -> str:
    """Return a time (ISO 8601 in UTC) as people read it, to the minute."""
    time = datetime.fromisoformat(at) if isinstance(at, str) else at
    return f"{time:%Y-%m-%d %H:%M} UTC"
