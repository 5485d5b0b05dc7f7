"""How each state of a deployment looks on its check run: what is so, what happens next, what people may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.domain.check_run import Action, Button, Conclusion
from tidegate.domain.deployment import Deployment, State, is_final
from tidegate.domain.markdown import code, escaped
from tidegate.domain.plan import PlannedChanges
from tidegate.domain.queue import Lock
from tidegate.domain.review import REVIEW_DAYS, expires_at, moment

_CONFIRM = Action(Button.CONFIRM, "Apply exactly this plan")
_REJECT = Action(Button.REJECT, "Apply nothing and end this deployment")
_UNLOCK = Action(Button.UNLOCK, "I looked: let later revisions deploy")


@dataclass(frozen=True, slots=True)
class View:
    """What a check run shows besides its deployment.

    ``ahead`` counts the deployments that go first; ``lock`` is the queue's; ``locks`` tells that this
    deployment put it there, ``locking`` that it is about to. ``plan_text`` begins the engine's output of the
    plan, which has ``plan_size`` bytes in all; ``plan_altered`` tells that it is not
    what the plan job stored, so it is not shown. ``notice`` answers a press that had no effect.
    """

    ahead: int | None = None
    lock: Lock | None = None
    locks: bool = False
    locking: bool = False
    plan_text: str = ""
    plan_size: int = 0
    plan_altered: bool = False
    bucket: str = ""
    execution_url: str | None = None
    log_url: str | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Face:
    """How one state looks: ``paragraphs`` are Markdown of our own making."""

    title: str
    paragraphs: tuple[str, ...]
    status: str = "completed"
    conclusion: Conclusion | None = None
    actions: tuple[Action, ...] = ()


def face_of(deployment: Deployment, view: View) -> Face:
    """Return how the deployment's check run looks now."""
    face = _FACES[deployment.state](deployment, view)
    return _with_lock(_without_altered_plan(face, deployment, view), deployment, view)


def place(view: View, key: str) -> str:
    """Return where an artifact lies, as people and the AWS command line name it."""
    return f"s3://{view.bucket}/{key}" if view.bucket else key


def _without_altered_plan(face: Face, deployment: Deployment, view: View) -> Face:
    """Warn of a plan's text that was altered: nobody confirms what cannot be read."""
    if not view.plan_altered:
        return face
    warning = "**The stored plan text was altered after it was made**, so it is not shown."
    if deployment.state is State.AWAITING_REVIEW:
        warning += " It cannot be confirmed: Reject it and merge again."
    actions = tuple(action for action in face.actions if action is not _CONFIRM)
    return replace(face, paragraphs=(warning, *face.paragraphs), actions=actions)


def _with_lock(face: Face, deployment: Deployment, view: View) -> Face:
    """Add the button that unlocks the queue to the check run of the deployment that locks it, or who did."""
    if deployment.unlocked and not view.locks:
        unlocked = f"**Unlocked** by {code(deployment.unlocked.by)} on {moment(deployment.unlocked.at)}."
        return replace(face, paragraphs=(*face.paragraphs, unlocked))
    if view.locking and is_final(deployment.state):
        coming = "**The queue of this root is being locked.** The button that unlocks it appears here in a moment."
        return replace(face, paragraphs=(*face.paragraphs, coming))
    if not view.locks or not is_final(deployment.state):
        return face
    why = (escaped(view.lock.reason),) if view.lock and deployment.state is not State.OUTCOME_UNKNOWN else ()
    return replace(face, paragraphs=(*face.paragraphs, *why), actions=(*face.actions, _UNLOCK))


def _queued(_: Deployment, view: View) -> Face:
    if view.lock is not None:
        lock = view.lock
        return Face(
            "Queued: the queue is locked",
            (
                (
                    f"**The queue of this root is locked** since {moment(lock.at)}, "
                    f"from {code(lock.revision[:7])} on, by {code(lock.by)}: {escaped(lock.reason)}"
                ),
                "This deployment waits. Press **Unlock** on the check run of that revision to let it go on.",
            ),
            "queued",
        )
    if view.ahead:
        first = "1 deployment of this root goes" if view.ahead == 1 else f"{view.ahead} deployments of this root go"
        return Face(
            f"Queued: {first} first", (f"**In line.** {first} first. Then planning starts by itself.",), "queued"
        )
    return Face("Queued", ("**In line**, next to go. Planning starts by itself.",), "queued")


def _planning(deployment: Deployment, _: View) -> Face:
    return Face(
        "Planning",
        (
            f"**Planning.** A runner makes the plan, usually within a few minutes. {escaped(deployment.reason)}",
            "If the plan has nothing to change, this deployment ends; otherwise it is shown here for review.",
        ),
        "in_progress",
    )


def _awaiting_review(deployment: Deployment, _: View) -> Face:
    review, must = deployment.review, deployment.must_review
    until = f"on {moment(expires_at(review))}" if review else f"after {REVIEW_DAYS} days"
    return Face(
        f"Review the plan: {_counts(deployment)}",
        (
            "**Waiting for your review.** Nothing is applied until somebody decides.",
            *((f"**Look twice:** {escaped(must)}",) if must else ()),
            (
                "* **Confirm** applies exactly this plan: the same plan file, commit and engine version.\n"
                "* **Reject** ends this deployment. Nothing is applied, and later revisions go on as usual."
            ),
            (
                "Whoever may write to this repository may decide, once. "
                f"The review expires {until}; without a decision nothing is applied."
            ),
        ),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(_CONFIRM, _REJECT),
    )


def _approved(deployment: Deployment, _: View) -> Face:
    return Face(
        f"Approved: {_counts(deployment)}",
        (f"**{_approval(deployment)}** The apply starts as soon as a runner is ready.",),
        "in_progress",
    )


def _applying(deployment: Deployment, _: View) -> Face:
    return Face(
        f"Applying: {_counts(deployment)}",
        (
            f"**Applying.** {_approval(deployment)} A runner applies exactly the plan below.",
            "Do not run the engine on this root elsewhere until this has ended.",
        ),
        "in_progress",
    )


def _applied(deployment: Deployment, _: View) -> Face:
    return Face(
        f"Applied: {_counts(deployment)}",
        (f"**Applied.** {_approval(deployment)} The infrastructure is what the revision says.",),
        conclusion=Conclusion.SUCCESS,
    )


def _no_changes(_: Deployment, __: View) -> Face:
    return Face(
        "Nothing to change",
        ("**Nothing to change.** The infrastructure already is what the revision says, so nothing was applied.",),
        conclusion=Conclusion.SUCCESS,
    )


def _plan_failed(deployment: Deployment, _: View) -> Face:
    return Face(
        "The plan failed",
        (
            f"**The plan failed.** {escaped(deployment.reason)} Nothing was applied.",
            (
                "The engine's last lines are below. Correct the configuration and merge that: "
                "the next revision of this root is planned as usual."
            ),
        ),
        conclusion=Conclusion.FAILURE,
    )


def _apply_failed(deployment: Deployment, _: View) -> Face:
    return Face(
        "The apply failed",
        (
            (
                f"**The apply failed.** {escaped(deployment.reason)} The engine said so itself and stored its state; "
                "**parts of the plan may have been applied**."
            ),
            (
                "The engine's last lines are below. Correct the cause and merge that: the next plan starts from "
                "what was applied and shows what is missing. It is never applied again by itself."
            ),
        ),
        conclusion=Conclusion.FAILURE,
    )


def _rejected(deployment: Deployment, _: View) -> Face:
    return Face(
        "Rejected",
        (f"**{_approval(deployment)}** Nothing was applied. The next revision of this root is planned as usual.",),
        conclusion=Conclusion.CANCELLED,
    )


def _review_expired(deployment: Deployment, _: View) -> Face:
    late = f" {escaped(deployment.reason)}" if deployment.reason else ""
    return Face(
        "The review expired",
        (
            f"**Nobody decided within {REVIEW_DAYS} days**, so nothing was applied.{late}",
            "The next revision of this root is planned as usual, and its plan includes these changes.",
        ),
        conclusion=Conclusion.TIMED_OUT,
    )


def _refused(deployment: Deployment, _: View) -> Face:
    return Face(
        "Not deployed",
        (f"**Not deployed.** {escaped(deployment.reason)}", "Nothing was planned or applied."),
        conclusion=Conclusion.FAILURE,
    )


def _superseded(deployment: Deployment, _: View) -> Face:
    return Face(
        "Superseded by a newer revision",
        (f"**Superseded.** {escaped(deployment.reason)}", "Nothing was planned or applied, and nothing is missing."),
        conclusion=Conclusion.SKIPPED,
    )


def _outcome_unknown(deployment: Deployment, view: View) -> Face:
    steps = (
        f"**It is not known what was applied.** {escaped(deployment.reason)}",
        (
            "The runner was lost while it applied, so some, all or none of the plan below may be in effect. "
            "It is never applied again by itself. What to do:"
        ),
        (
            "1. Read the last lines below and the job's log: how far did it get?\n"
            "2. Look whether the state is still locked (`force-unlock` frees it) and whether the runner left "
            f"{code(place(view, f'errored/{deployment.apply_job}.tfstate'))}; if so, `state push` it.\n"
            "3. Run a plan of this revision by hand: what it still shows was not applied.\n"
            "4. Repair what is half done, or leave it to the next revision's plan.\n"
            "5. Press **Unlock**: later revisions deploy again."
        ),
    )
    if view.locks:
        return Face(
            "Outcome unknown: the queue is locked",
            (
                *steps,
                "**The queue of this root is locked** until somebody who may write to this repository unlocks it.",
            ),
            conclusion=Conclusion.ACTION_REQUIRED,
        )
    if view.locking:
        return Face("Outcome unknown", steps, conclusion=Conclusion.FAILURE)
    return Face(
        "Outcome unknown, unlocked",
        (*steps, "**This deployment does not lock the queue any more.** Later revisions deploy as usual."),
        conclusion=Conclusion.FAILURE,
    )


def _engine_fault(deployment: Deployment, _: View) -> Face:
    return Face(
        "Tidegate failed",
        (
            f"**Tidegate itself failed, and nothing was applied.** {escaped(deployment.reason)}",
            "The operators are told by an alarm. The next revision of this root deploys these changes as well.",
        ),
        conclusion=Conclusion.FAILURE,
    )


_FACES: dict[State, Callable[[Deployment, View], Face]] = {
    State.QUEUED: _queued,
    State.PLANNING: _planning,
    State.AWAITING_REVIEW: _awaiting_review,
    State.APPROVED: _approved,
    State.APPLYING: _applying,
    State.APPLIED: _applied,
    State.NO_CHANGES: _no_changes,
    State.PLAN_FAILED: _plan_failed,
    State.APPLY_FAILED: _apply_failed,
    State.REJECTED: _rejected,
    State.REVIEW_EXPIRED: _review_expired,
    State.REFUSED: _refused,
    State.SUPERSEDED: _superseded,
    State.OUTCOME_UNKNOWN: _outcome_unknown,
    State.ENGINE_FAULT: _engine_fault,
}


def _approval(deployment: Deployment) -> str:
    """Return who decided about the plan and when, as a sentence."""
    review = deployment.review
    if review is None or review.approved is None:
        return "No review was needed."
    did = "Confirmed" if review.approved else "Rejected"
    return f"{did} by {code(review.by or '')} on {moment(review.at or '')}."


def _counts(deployment: Deployment) -> str:
    return counts(deployment.plan.changes) if deployment.plan else "no plan"


def counts(changes: PlannedChanges) -> str:
    """Return what a plan changes, in short: ``+3 ~1 -0 ±1``, and what it does besides."""
    parts = [f"+{changes.add} ~{changes.change} -{changes.destroy} ±{changes.replace}"]
    if changes.outputs:
        parts.append(f"{changes.outputs} output{'s' if changes.outputs > 1 else ''}")
    if changes.moved:
        parts.append(f"{changes.moved} in the state only")
    if changes.actions:
        parts.append(f"{changes.actions} action{'s' if changes.actions > 1 else ''}")
    if changes.deferred:
        parts.append(f"{changes.deferred} deferred")
    return ", ".join(parts)
