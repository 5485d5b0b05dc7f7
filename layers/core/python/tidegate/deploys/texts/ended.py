"""Texts of deployments that have ended: the state, the cause, and the next steps."""

from __future__ import annotations

from tidegate.deploys.rules.cluster import ProviderName
from tidegate.deploys.rules.deployment import Deployment, was_applied_before
from tidegate.deploys.rules.job import module_job_id
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.review import REVIEW_DAYS, moment
from tidegate.deploys.rules.workflow import STEP_FAILED
from tidegate.deploys.texts.advice import advice_on, again, again_after_a_time_out
from tidegate.deploys.texts.policies import verdict_lines
from tidegate.deploys.texts.presentation import (
    Presentation,
    View,
    WorkflowProgress,
    approval,
    counts_of,
    people,
    place,
    what_was_not,
)
from tidegate.plans.rules.engine_errors import first_error
from tidegate.rules.errors import CommitLeftBranch
from tidegate.texts.markdown import bounded, code, escaped, one_line
from tidegate.vcs.rules.check_run import MAXIMUM_TITLE, Conclusion

_UNLOCK = "\n5. Click **Unlock** to let later revisions deploy again."
_NEXT = "The next revision of this root is planned as usual."
#: Characters of why a step failed.
_REASON = 300
#: Bytes of what policies say of a plan.
_SHOWN = 10_000
#: Time-outs by the name of the error: the title and the sentence.
_LATE = {
    "States.Timeout": ("timed out", "It exceeded its time limit."),
    "States.HeartbeatTimeout": ("lost its heartbeat", "Its runner sent no heartbeat for 1 minute."),
}


def applied(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a successful apply, whatever became of later steps."""
    after = deployment.outcome.last_lines.rpartition(STEP_FAILED)
    if after[1]:
        return Presentation(
            f"Applied: {counts_of(deployment)}; a step after it failed",
            (
                f"**Applied, and a step after it failed:** {escaped(after[2].strip(), _REASON)}",
                f"{approval(deployment)} The infrastructure matches the revision.",
            ),
            conclusion=Conclusion.SUCCESS,
        )
    return Presentation(
        f"Applied: {counts_of(deployment)}",
        (f"**Applied.** {approval(deployment)} The infrastructure matches the revision.",),
        conclusion=Conclusion.SUCCESS,
    )


def no_changes(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a deployment without changes, or whose changes were applied before the merge."""
    if was_applied_before(deployment):
        return Presentation(
            "Applied before the merge",
            (f"**Applied before the merge.** {escaped(deployment.reason)}",),
            conclusion=Conclusion.SUCCESS,
        )
    return Presentation(
        "No changes",
        ("**No changes.** The infrastructure already matches the revision, so nothing was applied.",),
        conclusion=Conclusion.SUCCESS,
    )


def plan_failed(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a failed plan, or of one that policies refuse."""
    if deployment.error == POLICIES_REFUSED:
        return _held_up(deployment)
    how, why = _LATE.get(deployment.error, ("failed", ""))
    return Presentation(
        _headline(f"The plan {how}", deployment),
        (
            f"**The plan {how}.** {_why(deployment, why)} Nothing was applied.",
            f"{_below(deployment)}{_advice(deployment)}".rstrip(),
        ),
        conclusion=Conclusion.TIMED_OUT if why else Conclusion.FAILURE,
    )


def _held_up(deployment: Deployment) -> Presentation:
    failed = {each.policy_set: each for each in deployment.policies.verdicts if each.failed}
    owners = dict.fromkeys(each for held in deployment.policies.sets if held.name in failed for each in held.owners)
    verb = "apply" if deployment.request.base_sha else "deploy"
    instead = (
        f"or ask its owners, {people(tuple(owners))}, to approve {code(deployment.revision.short)} in a review"
        if owners
        else "or change the policy on the default branch: it has no owners who can approve the plan"
    )
    return Presentation(
        one_line(f"Blocked by policy: {', '.join(failed)}", MAXIMUM_TITLE),
        (
            f"**Policies block the plan, and nothing was applied.** {escaped(deployment.reason)}",
            "This plan was made for the apply. It may differ from the plan that was shown before.",
            bounded(verdict_lines(failed.values()), _SHOWN, "- {} more.".format),
            f"Change the code and push, {instead}. Then comment `tidegate {verb}` again.",
        ),
        conclusion=Conclusion.FAILURE,
    )


def apply_failed(deployment: Deployment, view: View) -> Presentation:
    """Return the text of a failed apply: parts of it may be in effect."""
    if deployment.settings.run.cluster is not None:
        return _workflow_failed(deployment, view.workflow)
    return Presentation(
        _headline("The apply failed", deployment),
        (
            (
                f"**The apply failed.** {escaped(deployment.reason)} The engine reported the error and saved its "
                "state. **Parts of the plan may have been applied**."
            ),
            f"{_below(deployment)}{_advice(deployment)}".rstrip(),
        ),
        conclusion=Conclusion.FAILURE,
    )


def _workflow_failed(deployment: Deployment, progress: WorkflowProgress | None) -> Presentation:
    """Return the text of a failed workflow: without its progress if it did not begin, or a later one has."""
    if progress is None or not progress.failed:
        progress = WorkflowProgress("", "", "The workflow failed", escaped(deployment.reason))
    page = f" See [the cluster's page]({progress.url})." if progress.url else ""
    return Presentation(
        progress.failed,
        (f"**{escaped(progress.failed)}.** {progress.why}", f"{_advice(deployment)}{page}".strip(), progress.tasks),
        conclusion=Conclusion.FAILURE,
    )


def rejected(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a rejected deployment: who rejected it, and when; or that its pull request was closed."""
    if deployment.outcome.withdrawn:
        return _cancelled(deployment)
    if deployment.error == CommitLeftBranch.__name__:
        told = f"**Not applied.** {escaped(deployment.reason)}"
        return Presentation("Not applied: its branch was rewritten", (told, _NEXT), conclusion=Conclusion.CANCELLED)
    return Presentation(
        "Rejected",
        (f"**{approval(deployment)}** Nothing was {what_was_not(deployment)}. {_NEXT}",),
        conclusion=Conclusion.CANCELLED,
    )


def _cancelled(deployment: Deployment) -> Presentation:
    return Presentation(
        "Cancelled: closed without a merge",
        (
            f"**Cancelled.** {escaped(deployment.outcome.withdrawn)} Nothing was {what_was_not(deployment)}.",
            "To apply it after all, reopen it and comment `tidegate apply` again.",
        ),
        conclusion=Conclusion.CANCELLED,
    )


def review_expired(deployment: Deployment, _: View) -> Presentation:
    """Return the text of an expired review."""
    review = deployment.review
    asked = f", requested on {moment(review.asked_at)}," if review else ""
    late = f" {escaped(deployment.reason)}" if deployment.reason else ""
    return Presentation(
        "The review timed out",
        (
            (
                f"**The plan was not reviewed within {REVIEW_DAYS} days.** The review{asked} timed "
                f"out{f' on {moment(deployment.changed_at)}' if deployment.changed_at else ''}. Nothing was "
                f"applied.{late}"
            ),
            again_after_a_time_out(deployment, " for a new plan"),
        ),
        conclusion=Conclusion.TIMED_OUT,
    )


def refused(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a deployment that was not admitted."""
    if deployment.outcome.withdrawn:
        return _cancelled(deployment)
    return Presentation(
        "Not deployed",
        (f"**Not deployed.** {escaped(deployment.reason)}", "Nothing was planned or applied."),
        conclusion=Conclusion.FAILURE,
    )


def superseded(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a superseded deployment."""
    return Presentation(
        "Superseded by a newer revision",
        (
            f"**Superseded.** {escaped(deployment.reason)}".rstrip(),
            f"Nothing was {what_was_not(deployment)}. The newer revision includes these changes.",
        ),
        conclusion=Conclusion.SKIPPED,
    )


def cancelled(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a deployment that was cancelled before its apply."""
    by = deployment.outcome.cancelled
    told = f" by {code(by.by)} on {moment(by.at)}" if by else ""
    return Presentation(
        "Cancelled",
        (
            f"**Cancelled{told}.** Nothing was {what_was_not(deployment)}.",
            f"{again(deployment)} to deploy it. {_NEXT}",
        ),
        conclusion=Conclusion.CANCELLED,
    )


def outcome_unknown(deployment: Deployment, view: View) -> Presentation:
    """Return the text of an apply whose outcome is unknown."""
    how, why = _LATE.get(deployment.error, ("", ""))
    about = f": the apply {how}" if how else ""
    steps = (
        f"**The outcome of the apply is unknown**{about}. {_why(deployment, why)}",
        (
            "Tidegate lost the runner during the apply, so all, part or none of the plan below may have been "
            "applied. Tidegate never retries an apply automatically. What to do:"
        ),
        _steps(deployment, view, is_free=not (view.locks or view.locking)),
        *((view.workflow.tasks,) if view.workflow else ()),
    )
    title = f"Outcome unknown{about}"
    if view.locks:
        locked = "**The queue of this root is locked** until somebody with write access to this repository unlocks it."
        return Presentation(f"{title}; the queue is locked", (*steps, locked), conclusion=Conclusion.ACTION_REQUIRED)
    conclusion = Conclusion.TIMED_OUT if how else Conclusion.FAILURE
    if view.locking:
        return Presentation(title, steps, conclusion=conclusion)
    free = "**This deployment no longer locks the queue.** Later revisions deploy as usual."
    return Presentation(f"{title}, unlocked", (*steps, free), conclusion=conclusion)


def _saved_state(deployment: Deployment, view: View) -> str:
    """Return where the runner may have saved the state of a cluster's root module."""
    cluster = deployment.settings.run.cluster
    if cluster is None or cluster.provider is not ProviderName.TERRAFORM:
        return ""
    key = place(view, f"errored/{module_job_id(deployment.id)}.tfstate")
    return f" Check whether the runner saved {code(key)}. If so, upload it with `state push`."


def _steps(deployment: Deployment, view: View, *, is_free: bool) -> str:
    if deployment.settings.run.cluster is not None:
        url = view.workflow.url if view.workflow else None
        page = f"[the cluster's page]({url})" if url else "the cluster's page"
        return (
            f"1. Open {page}: it shows which tasks are done, and what failed or was interrupted.\n2. Wait until what "
            "the workflow holds is given back, or release it there.\n3. Check the cluster at the task that was "
            f"interrupted.{_saved_state(deployment, view)}\n4. {again(deployment)}. The workflow goes on where it "
            f"ended, and does nothing again that is done.{'' if is_free else _UNLOCK}"
        )
    read = (
        "the engine's last lines in the text below and the job's log"
        if deployment.outcome.last_lines
        else "the job's log"
    )
    return (
        f"1. Read {read} to find out how far the apply got.\n2. Check whether the state is still locked. If so, "
        "remove the lock with `force-unlock`. Check whether the runner saved "
        f"{code(place(view, f'errored/{deployment.apply.job}.tfstate'))}. If so, upload it with `state push`.\n3. "
        "Run a plan of this revision manually. The changes that it shows were not applied.\n4. Fix what is "
        f"incomplete, or leave it to the plan of the next revision.{'' if is_free else _UNLOCK}"
    )


def engine_fault(deployment: Deployment, _: View) -> Presentation:
    """Return the text of a deployment that ended with an internal error."""
    how, why = _LATE.get(deployment.error, ("", ""))
    if how:
        return Presentation(
            f"The operation {how}",
            (f"**The operation {how}.** Nothing was applied. {_why(deployment, why)}", _advice(deployment)),
            conclusion=Conclusion.TIMED_OUT,
        )
    return Presentation(
        "Internal error",
        (
            (
                "**An internal error of Tidegate ended this deployment. Nothing was applied.** "
                f"{escaped(deployment.reason)}"
            ),
            f"Operators have been alerted. {_advice(deployment)}".rstrip(),
        ),
        conclusion=Conclusion.FAILURE,
    )


def _advice(deployment: Deployment) -> str:
    return advice_on(deployment, "this check")


def _headline(title: str, deployment: Deployment) -> str:
    """Return a title with the engine's first error, if it printed one."""
    first = first_error(deployment.outcome.last_lines)
    return one_line(f"{title}: {first}", MAXIMUM_TITLE) if first else title


def _below(deployment: Deployment) -> str:
    return "The engine's last lines come first in the text below. " if deployment.outcome.last_lines else ""


def _why(deployment: Deployment, otherwise: str) -> str:
    """Return the recorded reason, or the known explanation of this error."""
    return escaped(deployment.reason) or otherwise
