"""Texts of deployments in progress: planning, in review, and applying."""

from __future__ import annotations

from collections.abc import Iterator

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import (
    REVIEW_DAYS,
    asks_twice,
    destruction_of,
    expires_at,
    moment,
    needed_approvals,
)
from tidegate.deploys.rules.slots import SlotWait
from tidegate.deploys.rules.unapproved import refusals
from tidegate.deploys.rules.waiting import Review
from tidegate.deploys.texts.commands import approve_command
from tidegate.deploys.texts.policies import verdict_lines
from tidegate.deploys.texts.presentation import (
    APPROVE_PLAN,
    REJECT,
    Presentation,
    View,
    WorkflowProgress,
    approval,
    counts_of,
    people,
    who_may,
)
from tidegate.rules.access import Action
from tidegate.texts.markdown import bounded, code, escaped
from tidegate.vcs.rules.check_run import Conclusion
from tidegate.vcs.rules.forge_terms import ForgeTerms

#: Bytes of what policies say of a plan.
_SHOWN = 10_000


def planning(deployment: Deployment, view: View) -> Presentation:
    """Return how a deployment looks while its plan is made."""
    stacks = deployment.change.waits.apply_after
    cancel = f" You can cancel it on [its page]({view.page_url})." if view.page_url else ""
    waits = f"and waits for {'stack' if len(stacks) == 1 else 'stacks'} {people(stacks)}" if stacks else "for review"
    return Presentation(
        "Planning",
        (
            f"**Planning.** This usually takes a few minutes. {escaped(deployment.reason)}",
            f"If the plan has no changes, this deployment ends. Otherwise the plan appears here {waits}.{cancel}",
        ),
        "in_progress",
    )


def awaiting_review(deployment: Deployment, view: View) -> Presentation:
    """Return how a deployment looks while people review its plan."""
    review, must = deployment.review, deployment.planned.must_review
    given, wanted = _given(review), needed_approvals(deployment)
    so_far = f" ({given} of {wanted} approvals)" if wanted > 1 else ""
    return Presentation(
        f"Review the plan{so_far}: {counts_of(deployment)}",
        (
            "**Waiting for your review.** Nothing is applied before you decide.",
            *((f"**Check carefully:** {escaped(must)}",) if must else ()),
            *_refused(deployment),
            *_asked_twice(deployment, view),
            (
                "* **Approve** applies exactly this plan: the same plan file, commit and engine version.\n* "
                "**Reject** ends this deployment. Nothing is applied, and later revisions deploy as usual.\n* "
                f"{_in_words(deployment, view.terms)}"
            ),
            _who(deployment),
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(REJECT,) if asks_twice(deployment) else (APPROVE_PLAN, REJECT),
    )


def _in_words(deployment: Deployment, terms: ForgeTerms) -> str:
    """Return how to decide without the buttons: by a comment, or in a terminal where no pull request asked for it."""
    destroy, name = deployment.request.destroy, deployment.root.name
    if destroy is not None and destroy.deployment and destroy.asked_on is None:
        return f"Or use {code(f'tidegate approve {deployment.id}')} or {code(f'tidegate reject {deployment.id}')}."
    asked_on = destroy.asked_on if destroy else deployment.request.pull_request
    where = terms.reference(asked_on) if asked_on else f"the {terms.pull_request} of this change"
    return f"Or comment {code(approve_command(deployment))} on {where}, or {code(f'tidegate reject -p {name}')}."


def _asked_twice(deployment: Deployment, view: View) -> Iterator[str]:
    """Yield where to approve what a plan destroys in a protected stack, which a button cannot ask about."""
    plan = deployment.planned.plan
    if plan is not None and asks_twice(deployment):
        page = f"[the deployment's page]({view.page_url})" if view.page_url else "the deployment's page"
        yield (
            f"**Stack {code(deployment.stack)} is protected, and this plan {destruction_of(plan)}.** Approve it on "
            f"{page}, or by a comment or a command with `--yes`."
        )


def _refused(deployment: Deployment) -> Iterator[str]:
    """Yield what policies say of a plan that their owners must approve before it is applied."""
    failed = [verdict for _, verdict in refusals(deployment) if verdict is not None]
    if failed:
        yield ("**Policies block this plan.** It is applied only after their owners approve it, each with **Approve**.")
        yield bounded(verdict_lines(failed), _SHOWN, "- {} more.".format)


def _given(review: Review | None) -> int:
    return len(review.approvals) if review else 0


def _who(deployment: Deployment) -> str:
    """Return who may decide, how many are needed, who did so far, who may not, and until when."""
    review, rule = deployment.review, deployment.settings.review_rule
    wanted = needed_approvals(deployment)
    enough = "one Approve or one Reject is enough" if wanted == 1 else "each person once; one Reject is enough"
    sentences = [f"{who_may(deployment, Action.REVIEW)} decide: {enough}."]
    if wanted > 1:
        sentences.append(f"It has **{_given(review)} of {wanted} approvals**.")
    if wanted > rule.approvals:
        sentences.append(
            "Tidegate does not know all authors of this change, so one more person than usual must approve it."
        )
    if review and review.approvals:
        sentences.append(f"Approved so far by {people(tuple(given.by for given in review.approvals))}.")
    if rule.exclude_authors:
        authors = tuple(dict.fromkeys((deployment.request.by, *deployment.commits.authors)))
        sentences.append(f"{people(authors)} authored or requested this change, and cannot approve it.")
    until = f"on {expires_at(review):%Y-%m-%d %H:%M} UTC" if review else f"after {REVIEW_DAYS} days"
    sentences.append(f"The review expires {until}. Without a decision nothing is applied.")
    return " ".join(sentences)


def approved(deployment: Deployment, _: View) -> Presentation:
    """Return how a deployment looks whose apply is about to start."""
    return Presentation(
        f"Approved: {counts_of(deployment)}",
        (f"**{approval(deployment)}** The apply starts as soon as a runner is ready.",),
        "in_progress",
    )


def waiting_for_slot(wait: SlotWait, view: View) -> Presentation:
    """Return how a deployment looks whose plan or apply waits for a concurrency slot."""
    cancel = (
        f" [Its page]({view.page_url}) shows its current position. You can cancel it there." if view.page_url else ""
    )
    return Presentation(
        str(wait),
        (
            (
                f"**{wait}.** It has waited since {moment(wait.since)} and continues automatically. Applies go before "
                "plans."
            ),
            f"This installation runs at most {wait.limit} runners concurrently (`runner_slots`).{cancel}",
        ),
        "in_progress",
    )


def applying(deployment: Deployment, view: View) -> Presentation:
    """Return how a deployment looks while its plan is applied."""
    if view.workflow is not None:
        return _workflow(deployment, view.workflow)
    return Presentation(
        f"Applying: {counts_of(deployment)}",
        (
            f"**Applying.** {approval(deployment)} A runner applies exactly the plan below.",
            "Do not run Terraform or OpenTofu on this root elsewhere until the apply has ended.",
        ),
        "in_progress",
    )


def _workflow(deployment: Deployment, progress: WorkflowProgress) -> Presentation:
    """Return how a deployment looks while a workflow applies it, or gives back what it took."""
    page = f" [The cluster's page]({progress.url}) has the log of each." if progress.url else ""
    if progress.failed:
        return Presentation(
            progress.failed,
            (
                f"**{escaped(progress.failed)}.** {progress.why}",
                f"Diagnostics run, and what it took is given back. Then this deployment ends.{page}",
                progress.tasks,
            ),
            "in_progress",
        )
    return Presentation(
        f"Workflow: {progress.done}",
        (
            f"**The workflow runs: {progress.done}.** {approval(deployment)} It is the reviewed one.{page}",
            progress.tasks,
            "Do not change this cluster elsewhere until the workflow has ended.",
        ),
        "in_progress",
    )
