"""What a check run says about a deployment: where it is, what happens next, and what people may do.

``summary`` holds what everybody should read, ``text`` the plan and the engine's last words. Both stay
within the forge's limit; what is cut is the least important first, and the text says how much is
missing and where the whole is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidegate.domain.check_run import MAXIMUM_TEXT, MAXIMUM_TITLE, Action, Button, CheckRun, Conclusion
from tidegate.domain.deployment import Deployment, State
from tidegate.domain.markdown import code, escaped, fenced, folded, one_line, size
from tidegate.domain.plan import PlannedChanges
from tidegate.domain.plan_text import as_diff, cut_middle, cut_start
from tidegate.domain.queue import Lock
from tidegate.domain.review import REVIEW_DAYS, expires_at, moment

#: Bytes of the engine's last lines that are shown at most, so that the plan has room beside them.
LAST_LINES = 20_000
_FENCE_ROOM = 400
_CONFIRM = Action(Button.CONFIRM, "Apply exactly this plan")
_REJECT = Action(Button.REJECT, "Apply nothing and end this deployment")
_UNLOCK = Action(Button.UNLOCK, "I looked: let later revisions deploy")


@dataclass(frozen=True, slots=True)
class View:
    """What a check run shows besides its deployment.

    ``ahead`` counts the deployments that go first; ``lock`` is the queue's; ``unlocked`` tells that the
    lock which this deployment put on the queue is gone. ``plan_text`` begins the engine's output of the
    plan, which has ``plan_size`` bytes in all. ``notice`` answers a press that had no effect.
    """

    ahead: int | None = None
    lock: Lock | None = None
    unlocked: bool = False
    plan_text: str = ""
    plan_size: int = 0
    bucket: str = ""
    execution_url: str | None = None
    log_url: str | None = None
    notice: str = ""


@dataclass(frozen=True, slots=True)
class _Face:
    """How one state looks: ``paragraphs`` are Markdown of our own making."""

    title: str
    paragraphs: tuple[str, ...]
    status: str = "completed"
    conclusion: Conclusion | None = None
    actions: tuple[Action, ...] = ()


def check_run_name(root: str) -> str:
    """Return the name of the check run of a root's deployments."""
    return f"tidegate/deploy: {root}"


def render(deployment: Deployment, view: View) -> CheckRun:
    """Return the check run that shows ``deployment`` now."""
    face = _FACES[deployment.state](deployment, view)
    return CheckRun(
        name=check_run_name(deployment.root.name),
        sha=deployment.revision.sha,
        external_id=deployment.id,
        status=face.status,
        conclusion=face.conclusion,
        title=one_line(face.title, MAXIMUM_TITLE),
        summary=_summary(deployment, view, face.paragraphs),
        text=_text(deployment, view),
        actions=face.actions,
        details_url=view.log_url or view.execution_url,
    )


def render_continued(deployment: Deployment, url: str) -> CheckRun:
    """Return what a check run says when a newer one shows the same deployment at ``url``."""
    return _closed(
        check_run_name(deployment.root.name),
        deployment.revision.sha,
        deployment.id,
        "Continued in a newer check run",
        f"This deployment goes on in [a newer check run]({url}). The buttons here have no effect any more.",
    )


def render_foreign(name: str, sha: str, external_id: str, problem: str) -> CheckRun:
    """Return what a check run says when it shows no deployment that is known here."""
    return _closed(name, sha, external_id, "This check run is not known", escaped(problem))


def _closed(name: str, sha: str, external_id: str, title: str, summary: str) -> CheckRun:
    return CheckRun(name, sha, external_id, "completed", title, summary, conclusion=Conclusion.NEUTRAL)


def _queued(_: Deployment, view: View) -> _Face:
    if view.lock is not None:
        lock = view.lock
        return _Face(
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
        return _Face(
            f"Queued: {first} first", (f"**In line.** {first} first. Then planning starts by itself.",), "queued"
        )
    return _Face("Queued", ("**In line**, next to go. Planning starts by itself.",), "queued")


def _planning(deployment: Deployment, _: View) -> _Face:
    return _Face(
        "Planning",
        (
            f"**Planning.** A runner makes the plan, usually within a few minutes. {escaped(deployment.reason)}",
            "If the plan has nothing to change, this deployment ends; otherwise it is shown here for review.",
        ),
        "in_progress",
    )


def _awaiting_review(deployment: Deployment, _: View) -> _Face:
    review, must = deployment.review, deployment.must_review
    until = f"on {moment(expires_at(review))}" if review else f"after {REVIEW_DAYS} days"
    return _Face(
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


def _approved(deployment: Deployment, _: View) -> _Face:
    return _Face(
        f"Approved: {_counts(deployment)}",
        (f"**{_approval(deployment)}** The apply starts as soon as a runner is ready.",),
        "in_progress",
    )


def _applying(deployment: Deployment, _: View) -> _Face:
    return _Face(
        f"Applying: {_counts(deployment)}",
        (
            f"**Applying.** {_approval(deployment)} A runner applies exactly the plan below.",
            "Do not run the engine on this root elsewhere until this has ended.",
        ),
        "in_progress",
    )


def _applied(deployment: Deployment, _: View) -> _Face:
    return _Face(
        f"Applied: {_counts(deployment)}",
        (f"**Applied.** {_approval(deployment)} The infrastructure is what the revision says.",),
        conclusion=Conclusion.SUCCESS,
    )


def _no_changes(_: Deployment, __: View) -> _Face:
    return _Face(
        "Nothing to change",
        ("**Nothing to change.** The infrastructure already is what the revision says, so nothing was applied.",),
        conclusion=Conclusion.SUCCESS,
    )


def _plan_failed(deployment: Deployment, _: View) -> _Face:
    return _Face(
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


def _apply_failed(deployment: Deployment, _: View) -> _Face:
    return _Face(
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


def _rejected(deployment: Deployment, _: View) -> _Face:
    return _Face(
        "Rejected",
        (f"**{_approval(deployment)}** Nothing was applied. The next revision of this root is planned as usual.",),
        conclusion=Conclusion.CANCELLED,
    )


def _review_expired(deployment: Deployment, _: View) -> _Face:
    late = f" {escaped(deployment.reason)}" if deployment.reason else ""
    return _Face(
        "The review expired",
        (
            f"**Nobody decided within {REVIEW_DAYS} days**, so nothing was applied.{late}",
            "The next revision of this root is planned as usual, and its plan includes these changes.",
        ),
        conclusion=Conclusion.TIMED_OUT,
    )


def _refused(deployment: Deployment, _: View) -> _Face:
    return _Face(
        "Not deployed",
        (f"**Not deployed.** {escaped(deployment.reason)}", "Nothing was planned or applied."),
        conclusion=Conclusion.FAILURE,
    )


def _outcome_unknown(deployment: Deployment, view: View) -> _Face:
    steps = (
        f"**It is not known what was applied.** {escaped(deployment.reason)}",
        (
            "The runner was lost while it applied, so some, all or none of the plan below may be in effect. "
            "It is never applied again by itself. What to do:"
        ),
        (
            "1. Read the last lines below and the job's log: how far did it get?\n"
            "2. Look whether the state is still locked (`force-unlock` frees it) and whether the runner left "
            f"{code(_place(view, f'errored/{deployment.apply_job}.tfstate'))}; if so, `state push` it.\n"
            "3. Run a plan of this revision by hand: what it still shows was not applied.\n"
            "4. Repair what is half done, or leave it to the next revision's plan.\n"
            "5. Press **Unlock**: later revisions deploy again."
        ),
    )
    if view.unlocked:
        return _Face(
            "Outcome unknown, unlocked",
            (*steps, "**The queue was unlocked.** Later revisions deploy as usual."),
            conclusion=Conclusion.FAILURE,
        )
    return _Face(
        "Outcome unknown: the queue is locked",
        (*steps, "**The queue of this root is locked** until somebody who may write to this repository unlocks it."),
        conclusion=Conclusion.ACTION_REQUIRED,
        actions=(_UNLOCK,),
    )


def _engine_fault(deployment: Deployment, _: View) -> _Face:
    return _Face(
        "Tidegate failed",
        (
            f"**Tidegate itself failed, and nothing was applied.** {escaped(deployment.reason)}",
            "The operators are told by an alarm. The next revision of this root deploys these changes as well.",
        ),
        conclusion=Conclusion.FAILURE,
    )


_FACES: dict[State, Callable[[Deployment, View], _Face]] = {
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
    """Return what a plan changes, in short: ``+3 ~1 -0 ±1``, and what it does to outputs and state only."""
    parts = [f"+{changes.add} ~{changes.change} -{changes.destroy} ±{changes.replace}"]
    if changes.outputs:
        parts.append(f"{changes.outputs} output{'s' if changes.outputs > 1 else ''}")
    if changes.moved:
        parts.append(f"{changes.moved} in the state only")
    return ", ".join(parts)


def _summary(deployment: Deployment, view: View, paragraphs: Iterable[str]) -> str:
    """Join what the summary says, most important first; what does not fit is the list of addresses."""
    notice = (f"> **Your press had no effect.** {escaped(view.notice)}",) if view.notice else ()
    head, tail = (*notice, *paragraphs), (_facts(deployment), _links(deployment, view))
    room = MAXIMUM_TEXT - size("\n\n".join((*head, *tail))) - 10
    return "\n\n".join(part for part in (*head, *_changes(deployment, room), *tail) if part)


def _changes(deployment: Deployment, room: int) -> tuple[str, ...]:
    """Return what the plan changes: what it destroys and replaces first, by address."""
    if deployment.plan is None or not deployment.plan.changes.any:
        return ()
    changes = deployment.plan.changes
    parts = [
        *_addresses("destroys", changes.destroy, changes.destroyed),
        *_addresses("replaces", changes.replace, changes.replaced),
        f"`+{changes.add}` to add, `~{changes.change}` to change, `-{changes.destroy}` to destroy, "
        f"`±{changes.replace}` to replace"
        + (f", {changes.outputs} outputs to change" if changes.outputs else "")
        + (f", {changes.moved} to move in the state only" if changes.moved else ""),
    ]
    return (cut_middle("\n\n".join(parts), room),)


def _addresses(verb: str, count: int, addresses: tuple[str, ...]) -> Iterable[str]:
    if not count:
        return
    lines = [f"**This {verb} {count} resource{'s' if count > 1 else ''}:**\n"]
    lines += [f"* {code(address)}" for address in addresses]
    if count > len(addresses):
        lines.append(f"* and {count - len(addresses)} more: see the plan")
    yield "\n".join(lines)


def _facts(deployment: Deployment) -> str:
    root, plan = deployment.root, deployment.plan
    engine = f"{root.engine.name.value} {plan.engine_version if plan else root.engine.version or ''}".strip()
    rows = [
        ("Root", f"{code(root.name)} in {code(root.dir)}, workspace {code(root.workspace)}"),
        ("Revision", f"{code(deployment.revision.short)} of {code(deployment.revision.branch)}"),
        ("Asked for by", f"{code(deployment.requested_by)}, {moment(deployment.requested_at)}"),
        ("Engine", code(engine)),
    ]
    # A cell ends at a bar, also inside code.
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows)


def _links(deployment: Deployment, view: View) -> str:
    links = [f"[{name}]({url})" for name, url in (("Log", view.log_url), ("Execution", view.execution_url)) if url]
    return " · ".join([*links, f"Deployment {code(deployment.id)}"])


def _place(view: View, key: str) -> str:
    return f"s3://{view.bucket}/{key}" if view.bucket else key


def _text(deployment: Deployment, view: View) -> str:
    """Return the engine's last words and the plan, within the limit: the plan's middle is cut first."""
    parts = []
    if deployment.last_lines:
        parts.append("The engine's last lines:\n\n" + fenced(cut_start(deployment.last_lines.rstrip(), LAST_LINES)))
    if deployment.plan is not None and view.plan_text:
        whole = f"The whole plan: {code(_place(view, deployment.plan.text.key), 1000)}"
        room = MAXIMUM_TEXT - size("\n\n".join([*parts, whole])) - _FENCE_ROOM
        parts += [folded("Plan", _fenced_plan(view, room)), whole]
    return "\n\n".join(parts)


def _fenced_plan(view: View, room: int) -> str:
    """Return the plan in a fence of at most ``room`` bytes. Making it harmless may make it longer: cut again then."""
    missing = max(0, view.plan_size - size(view.plan_text))
    diff, allowed = as_diff(view.plan_text), room
    while True:
        block = fenced(cut_middle(diff, allowed, size(diff) + missing if missing else None), "diff")
        if size(block) <= room:
            return block
        allowed -= size(block) - room
