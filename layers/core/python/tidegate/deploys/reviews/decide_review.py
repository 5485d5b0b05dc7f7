"""Decide a plan review. Buttons, pages, the API and the command line all call this verb.

The caller has checked that the person may decide.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.check_branch import left_branch
from tidegate.deploys.reviews.carry_out_review import carry_out_review, go_on_with_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.reason import tidied
from tidegate.deploys.rules.review import (
    Answer,
    Followup,
    answer_given,
    asks_twice,
    check_click,
    decided,
    second_question,
)
from tidegate.deploys.texts.advice import advice_on, again
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound

_ANOTHER_PLAN = (
    "The plan that you reviewed is not the current one, so nothing was decided. Reload the deployment's page, and "
    "review the plan that it shows."
)
_ALTERED = "The stored plan output was modified after the plan was made, so it cannot be reviewed. Reject the plan. "


@dataclass(frozen=True, slots=True)
class _Given:
    """A person's answer."""

    answer: Answer
    by: str
    at: datetime
    seen: str | None
    reason: str
    destroys: bool

    @property
    def approves(self) -> bool:
        return self.answer is Answer.APPROVE


def decide_review(
    ports: Ports,
    deployment: str,
    answer: Answer,
    by: str,
    at: datetime,
    seen: str | None = None,
    *,
    reason: str = "",
    destroys: bool = False,
) -> Decision:
    """Record the answer that ``by`` gave at ``at``, and go on with it once it decides.

    ``seen`` is the SHA-256 of the approved plan; without it, the review's id identifies the plan.
    ``reason`` is why, if ``by`` said so. ``destroys``: the person said that what the plan destroys is meant, which
    protected stacks ask for.

    A repeated answer changes nothing. Raise NotFound. On Conflict, CloudUnavailable or ForgeUnavailable, call again
    with the same ``at``.
    """
    return deciding_again(lambda: _decide(ports, deployment, _Given(answer, by, at, seen, tidied(reason), destroys)))


def _decide(ports: Ports, identifier: str, given: _Given) -> Decision:
    deployment = ports.deployments.get(identifier)
    if given.approves and given.seen is not None and not _is_of(deployment.planned.plan, given.seen):
        return Decision(False, _ANOTHER_PLAN)
    verdict = check_click(deployment, given.answer, given.by, given.at)
    if verdict.followup is Followup.REFUSE:
        with suppress(Conflict, CloudUnavailable):  # A repeated answer, or the reconciler, tries again.
            carry_out_review(ports, deployment)
        return Decision(False, f"{verdict.reason} {advice_on(deployment)}".rstrip())
    if verdict.followup is Followup.DECIDE:
        refusal = _may_not_approve(ports, deployment, given) if given.approves else ""
        if refusal:
            return Decision(False, refusal)
        deployment = ports.deployments.save(decided(deployment, given.answer, given.by, given.at, given.reason))
    go_on_with_review(ports, deployment)
    return Decision(True, answer_given(deployment, given.by))


def _may_not_approve(ports: Ports, deployment: Deployment, given: _Given) -> str:
    """Return why the plan cannot be approved, an empty text if it can. Raise ForgeUnavailable and ForgeRefused."""
    if _is_altered(ports, deployment):
        return f"{_ALTERED}{again(deployment)} for a new plan."
    if asks_twice(deployment) and deployment.planned.plan and not given.destroys:
        return second_question(deployment.stack, deployment.planned.plan)
    return left_branch(ports, deployment)


def _is_altered(ports: Ports, deployment: Deployment) -> bool:
    """Tell whether the plan's stored text differs from what the plan job stored. An expired text does not count."""
    if deployment.planned.plan is None:
        return False
    text = deployment.planned.plan.text
    try:
        start = ports.artifacts.get_start(text.key, 0)
    except NotFound:
        return False
    return bool(start.sha256) and start.sha256 != text.sha256


def _is_of(plan: Plan | None, digest: str) -> bool:
    return plan is not None and plan.file.sha256 == digest
