"""Check-run texts by state: what is true, what happens next, what people may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tidegate.deploys.rules.cancelling import APPLY_WARNING
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import locks_when_let_in
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.texts import ended as check_run_ended
from tidegate.deploys.texts import gate as check_run_gate
from tidegate.deploys.texts import requirements as check_run_requirements
from tidegate.deploys.texts import running as check_run_running
from tidegate.deploys.texts import waiting as check_run_waiting
from tidegate.deploys.texts.advice import again
from tidegate.deploys.texts.presentation import APPROVE_PLAN, UNLOCK, Presentation, View
from tidegate.deploys.texts.running import waiting_for_slot
from tidegate.texts.markdown import code, escaped

_FACES: dict[State, Callable[[Deployment, View], Presentation]] = {
    State.QUEUED: check_run_waiting.queued,
    State.PLANNING: check_run_running.planning,
    State.GATED: check_run_gate.gated,
    State.BLOCKED: check_run_gate.blocked,
    State.AWAITING_REVIEW: check_run_running.awaiting_review,
    State.APPROVED: check_run_running.approved,
    State.AWAITING_REQUIREMENTS: check_run_requirements.awaiting_requirements,
    State.APPLYING: check_run_running.applying,
    State.APPLIED: check_run_ended.applied,
    State.NO_CHANGES: check_run_ended.no_changes,
    State.PLAN_FAILED: check_run_ended.plan_failed,
    State.APPLY_FAILED: check_run_ended.apply_failed,
    State.REJECTED: check_run_ended.rejected,
    State.REVIEW_EXPIRED: check_run_ended.review_expired,
    State.GATE_EXPIRED: check_run_gate.gate_expired,
    State.REFUSED: check_run_ended.refused,
    State.SUPERSEDED: check_run_ended.superseded,
    State.CANCELLED: check_run_ended.cancelled,
    State.OUTCOME_UNKNOWN: check_run_ended.outcome_unknown,
    State.ENGINE_FAULT: check_run_ended.engine_fault,
}


def presentation_of(deployment: Deployment, view: View) -> Presentation:
    """Return how the deployment's check run looks now."""
    face = _FACES[deployment.state](deployment, view) if view.slot is None else waiting_for_slot(view.slot, view)
    face = _with_interrupt(_without_altered_plan(face, deployment, view), deployment)
    return _with_supersession(_with_reruns(_with_lock(face, deployment, view), view), deployment, view)


def _without_altered_plan(face: Presentation, deployment: Deployment, view: View) -> Presentation:
    """Warn of a plan's text that was altered: nobody approves what cannot be read."""
    if not view.plan_altered:
        return face
    warning = "**The stored plan output was modified after the plan was made**, so it is not shown."
    if deployment.state is State.AWAITING_REVIEW:
        warning += f" You cannot approve it. Reject it. {again(deployment)} for a new plan."
    actions = tuple(action for action in face.actions if action is not APPROVE_PLAN)
    return replace(face, paragraphs=(warning, *face.paragraphs), actions=actions)


def _with_interrupt(face: Presentation, deployment: Deployment) -> Presentation:
    """Say who interrupted the apply: the state may be partly changed, however it ended."""
    by = deployment.outcome.cancelled
    if by is None or deployment.state is State.CANCELLED:
        return face
    told = f"**{code(by.by)} interrupted this apply** on {moment(by.at)}. {APPLY_WARNING}"
    return replace(face, paragraphs=(told, *face.paragraphs))


def _with_lock(face: Presentation, deployment: Deployment, view: View) -> Presentation:
    """Add the deployment's relation to its queue's lock, and the unlock button if the lock can be removed.

    The VCS provider shows buttons on completed check runs only.
    """
    if deployment.outcome.unlocked and not view.locks:
        unlocked = (
            f"**Unlocked** by {code(deployment.outcome.unlocked.by)} on {moment(deployment.outcome.unlocked.at)}."
        )
        return _saying(face, unlocked)
    if view.locking and is_final(deployment.state):
        coming = "**The queue of this root is being locked.** The Unlock button will appear here."
        return _saying(face, coming)
    if deployment.state is State.QUEUED and locks_when_let_in(deployment):
        return _saying(
            face, "**It locks the queue of this root** once it starts: merges wait until somebody unlocks it."
        )
    if not view.locks or view.lock is None:
        return face
    if deployment.state is not State.OUTCOME_UNKNOWN:
        face = _saying(face, f"**This deployment locked the queue of this root:** {escaped(view.lock.reason)}")
    return replace(face, actions=(*face.actions, UNLOCK)) if face.status == "completed" else face


def _with_reruns(face: Presentation, view: View) -> Presentation:
    """Say which deployment this one repeats, and which one repeats this."""
    if view.repeats:
        face = _saying(face, f"This is a re-run of {view.repeats}.")
    if view.repeated_by:
        first, *others = face.paragraphs
        newer = f"**Re-run:** {view.repeated_by} is a newer deployment of this revision."
        face = replace(face, paragraphs=(first, newer, *others))
    return face


def _with_supersession(face: Presentation, deployment: Deployment, view: View) -> Presentation:
    """Say which deployment stopped waiting for this one, or that this one did so for another."""
    if view.superseded_by:
        face = _saying(face, f"Superseded by {view.superseded_by}.")
    if deployment.lineage.contained_by:
        face = _saying(
            face,
            "A newer revision that contains this one is deployed, so deployments that depend on this one continue.",
        )
    if not view.supersedes:
        return face
    takes = f"This supersedes {view.supersedes}, which waited for its dependencies, and includes its changes."
    if deployment.state is not State.AWAITING_REVIEW or not deployment.lineage.look_twice:
        return _saying(face, takes)
    first, *others = face.paragraphs
    twice = f"**Check carefully:** {takes} Its dependencies were to be deployed before these changes."
    return replace(face, paragraphs=(first, twice, *others))


def _saying(face: Presentation, paragraph: str) -> Presentation:
    return replace(face, paragraphs=(*face.paragraphs, paragraph))
