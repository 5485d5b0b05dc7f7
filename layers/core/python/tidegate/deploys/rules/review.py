"""Plan reviews: does a plan need one, how long does it wait, and what does an answer do?"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.reason import because
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.state import State, where_it_is
from tidegate.deploys.rules.waiting import Approval, Review
from tidegate.plans.rules.plan import Plan
from tidegate.texts.sentences import listed

#: How long the Terraform machine waits for a review (its TimeoutSeconds): a week spans every holiday
#: weekend, and a plan that is older rarely fits the infrastructure any more.
REVIEW_DAYS = 7
#: How long before a review expires people are told: whoever works in another time zone can still answer.
WARNED_BEFORE = timedelta(hours=24)


#: Rule changes that a reason names at most.
_NAMED = 5
#: Why a plan that destroys a root is reviewed, whatever the configuration.
_DESTROYS = "This plan destroys the resources of the root. Such plans always need a review."
#: Why the plan of a deployment that supersedes a blocked one is reviewed: otherwise it would bypass the gate.
_HELD_UP_BEFORE = "This plan includes the changes of an earlier deployment that was blocked by its dependencies."


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


def evaluate_plan(deployment: Deployment, plan: Plan) -> PlanVerdict:
    """Decide what a plan needs, by the deployment's review rule.

    A review that the revision itself requires is waited for whatever the rule.
    """
    if not plan.changes.any:
        return PlanVerdict(Need.NOTHING, "The plan has no changes.")
    demanded = (
        deployment.outcome.withdrawn
        or deployment.planned.must_review
        or (_DESTROYS if deployment.request.destroy else "")
        or _by_rules(deployment)
        or _protected(deployment, plan)
        or (_HELD_UP_BEFORE if deployment.lineage.look_twice else _by_hand(deployment))
    )
    if demanded:
        return PlanVerdict(Need.REVIEW, demanded)
    when = deployment.settings.review_rule.when
    if when is PlanReview.ALWAYS:
        return PlanVerdict(Need.REVIEW, "Every plan with changes needs a review.")
    if when is PlanReview.NEVER:
        return PlanVerdict(Need.APPLY, "Plan reviews are off for this root.")
    if deployment.request.trigger is Trigger.MANUAL:
        return PlanVerdict(Need.REVIEW, "It was requested manually.")
    return PlanVerdict(Need.APPLY, "Only manual deployments need a review for this root.")


def _by_rules(deployment: Deployment) -> str:
    if not deployment.commits.rule_changes:
        return ""
    return f"It changes what runs, or who may do what: {listed(deployment.commits.rule_changes, _NAMED)}."


def _protected(deployment: Deployment, plan: Plan) -> str:
    if not deployment.settings.review_rule.protected or not _destroys_something(plan):
        return ""
    return f"Stack {deployment.stack} is protected, and the plan {destruction_of(plan)}."


def _destroys_something(plan: Plan) -> bool:
    return bool(plan.changes.destroy or plan.changes.replace)


def destruction_of(plan: Plan) -> str:
    """Return what a plan destroys, after "the plan": "destroys 2 resources and replaces 1"."""
    destroy, replaced = plan.changes.destroy, plan.changes.replace
    noun = "resource" if (destroy or replaced) == 1 else "resources"
    if not replaced:
        return f"destroys {destroy} {noun}"
    return f"destroys {destroy} {noun} and replaces {replaced}" if destroy else f"replaces {replaced} {noun}"


def asks_twice(deployment: Deployment) -> bool:
    """Tell whether who approves the plan must say that its destruction is meant: its stack is protected."""
    plan = deployment.planned.plan
    return plan is not None and deployment.settings.review_rule.protected and _destroys_something(plan)


def second_question(stack: str, plan: Plan) -> str:
    """Return why a plan is not approved without saying that its destruction is meant, and how to say that."""
    return (
        f"Stack {stack} is protected, and this plan {destruction_of(plan)}. To approve that, confirm it on the "
        "deployment's page, or approve with `--yes` in a comment or with the command line."
    )


def _by_hand(deployment: Deployment) -> str | None:
    names = [f"{root} ({stack})" for root, stack in deployment.change.waits.by_hand]
    if not names:
        return None
    more = f" and {len(names) - 1} more" if names[1:] else ""
    return f"This commit also changes {names[0]}{more}, which must be deployed first, but is only deployed manually."


def review_id(deployment: Deployment, plan: Plan) -> str:
    """Return the id of the review of this plan: the same however often it is asked for."""
    return hashlib.sha256(f"{deployment.id}\0{plan.job}\0{plan.file.sha256}".encode()).hexdigest()[:20]


def asked_for(deployment: Deployment, plan: Plan, at: datetime) -> Deployment:
    """Return the deployment waiting for the review of its plan, requested at ``at``."""
    review = Review(id=review_id(deployment, plan), asked_at=at)
    planned = replace(deployment.planned, plan=plan)
    return replace(deployment.moved(State.AWAITING_REVIEW, at), planned=planned, review=review, gate=None)


def expires_at(review: Review) -> datetime:
    """Return when the review expires."""
    return review.asked_at + timedelta(days=REVIEW_DAYS)


def expires_soon(deployment: Deployment, now: datetime) -> bool:
    """Tell whether an undecided review expires within a day, and nobody was told yet."""
    review = deployment.review
    if review is None or deployment.state is not State.AWAITING_REVIEW or review.warned:
        return False
    return review.approved is None and expires_at(review) - now <= WARNED_BEFORE


def warned(deployment: Deployment) -> Deployment:
    """Return the deployment after people were told that its review expires soon."""
    return replace(deployment, review=replace(deployment.review, warned=True) if deployment.review else None)


def needed_approvals(deployment: Deployment) -> int:
    """Return how many people must approve the plan.

    One more than the rule if authors do not count and may be unknown: one of them may be approving.
    """
    rule = deployment.settings.review_rule
    return rule.approvals + (rule.exclude_authors and not deployment.commits.authors_known)


def missing_approvals(deployment: Deployment) -> int:
    """Return how many more people must approve the plan."""
    given = len(deployment.review.approvals) if deployment.review else 0
    return max(0, needed_approvals(deployment) - given)


def is_decided(deployment: Deployment) -> bool:
    """Tell whether the review is decided, though its token may not be settled yet."""
    waiting = deployment.state in {State.AWAITING_REVIEW, State.APPROVED}
    return waiting and deployment.review is not None and deployment.review.approved is not None


class Answer(StrEnum):
    """An answer to a plan review. The values are the API's words."""

    APPROVE = "approve"
    REJECT = "reject"


class Followup(StrEnum):
    """The effect of an answer to a review."""

    DECIDE = "decide"
    SETTLE_AGAIN = "settle again"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class ClickVerdict:
    """The effect of an answer, and why."""

    followup: Followup
    reason: str = ""


def check_click(deployment: Deployment, answer: Answer, by: str, at: datetime) -> ClickVerdict:
    """Decide about an answer by ``by``, received at ``at``.

    A repeated answer (a message that is delivered twice) has no further effect but settles the review's token again, in
    case the first delivery died before it.
    """
    review = deployment.review
    if review is None:
        return _not_waiting(deployment)
    if _was_recorded(review, answer, by, at):
        return ClickVerdict(Followup.SETTLE_AGAIN)
    if review.approved is not None:
        done = "approved" if review.approved else "rejected"
        return _refused(
            f"{review.by} already {done} this plan on {moment(review.at or review.asked_at)}. That decision is final."
        )
    if deployment.state is not State.AWAITING_REVIEW:
        return _not_waiting(deployment)
    return _judge_person(deployment, review, answer, by)


def _judge_person(deployment: Deployment, review: Review, answer: Answer, by: str) -> ClickVerdict:
    """Decide whether this person may answer. Everybody who may decide at all may reject."""
    if answer is Answer.REJECT:
        return ClickVerdict(Followup.DECIDE)
    if deployment.outcome.withdrawn:
        return _refused(f"{deployment.outcome.withdrawn} This plan can no longer be applied.")
    if deployment.settings.review_rule.exclude_authors and _is_author(deployment, by):
        return _refused(f"{by} authored or requested this change, so another person must approve it.")
    if any(_same(approval.by, by) for approval in review.approvals):
        missing = missing_approvals(deployment)
        return _refused(f"{by} already approved this plan. {_more(missing)} from other people.")
    return ClickVerdict(Followup.DECIDE)


def _was_recorded(review: Review, answer: Answer, by: str, at: datetime) -> bool:
    if answer is Answer.APPROVE:
        return any((approval.by, approval.at) == (by, at) for approval in review.approvals)
    return (review.approved, review.by, review.at) == (False, by, at)


def _not_waiting(deployment: Deployment) -> ClickVerdict:
    if deployment.state is State.REVIEW_EXPIRED:
        return _refused(f"The review expired after {REVIEW_DAYS} days, so this plan can no longer be applied.")
    return _refused(f"This deployment {where_it_is(deployment.state)} and does not wait for a review.")


def _refused(reason: str) -> ClickVerdict:
    return ClickVerdict(Followup.REFUSE, reason)


def _is_author(deployment: Deployment, person: str) -> bool:
    return any(_same(author, person) for author in (*deployment.commits.authors, deployment.request.by))


def excluded(deployment: Deployment) -> tuple[str, ...]:
    """Return the known people whose approval does not count: none if authors count."""
    people = (
        (*deployment.commits.authors, deployment.request.by) if deployment.settings.review_rule.exclude_authors else ()
    )
    return tuple({person.casefold(): person for person in people}.values())


def _same(login: str, other: str) -> bool:
    """Logins are case-insensitive."""
    return login.casefold() == other.casefold()


def _more(missing: int) -> str:
    return "1 more approval is needed" if missing == 1 else f"{missing} more approvals are needed"


def decided(deployment: Deployment, answer: Answer, by: str, at: datetime, reason: str = "") -> Deployment:
    """Return the deployment after an answer: rejected for good, approved, or with one more approval.

    A rejection is an ``ending`` that is still to be audited. Raise ValueError if the deployment does not wait for a
    review.
    """
    review = deployment.review
    if review is None or deployment.state is not State.AWAITING_REVIEW:
        raise ValueError(f"{deployment.id} does not wait for a review")
    if answer is Answer.REJECT:
        told = deployment.outcome.withdrawn or because(f"{by} rejected the plan.", reason)
        ending = Ending(State.REJECTED, told, "", "", at)
        return replace(
            deployment,
            outcome=replace(deployment.outcome, ending=ending),
            review=replace(review, approved=False, by=by, at=at, reason=reason),
        )
    given = replace(review, approvals=(*review.approvals, Approval(by, at, reason)))
    more = replace(deployment, review=given)
    if missing_approvals(more):
        return replace(more, changed_at=at)
    approved = replace(given, approved=True, by=by, at=at, reason=reason)
    return replace(more.moved(State.APPROVED, at, reason, by), review=approved)


def answer_given(deployment: Deployment, by: str) -> str:
    """Return what there is to say to ``by``, whose answer was recorded."""
    review = deployment.review
    if review is None or review.approved is None:
        reason = next((each.reason for each in reversed(review.approvals) if _same(each.by, by)), "") if review else ""
        return f"{because(f'{by} approved the plan.', reason)} {_more(missing_approvals(deployment))}."
    return because(f"{by} {'approved' if review.approved else 'rejected'} the plan.", review.reason)


def moment(at: datetime) -> str:
    """Return a time as people read it, to the minute."""
    return f"{at:%Y-%m-%d %H:%M} UTC"
