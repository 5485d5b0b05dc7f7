"""The check run of a deployment: its state, the next step, and what people may do.

``summary`` holds what everybody should read, ``text`` the plan and the engine's last lines. Both stay within the VCS
provider's limit; the least important part is cut first, and the text says how much is missing and where the whole is.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.cluster import ProviderName
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import moment
from tidegate.deploys.rules.run_cost import RunCost
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.texts.cost_text import cost_paragraph
from tidegate.deploys.texts.engine_annotations import engine_annotations
from tidegate.deploys.texts.plan_text import cut_middle, fenced_plan
from tidegate.deploys.texts.presentation import View, approval, many, place
from tidegate.deploys.texts.states import presentation_of
from tidegate.plans.rules.counts import counts
from tidegate.texts.durations import duration
from tidegate.texts.markdown import code, escaped, fenced, folded, one_line, size
from tidegate.vcs.rules.check_run import (
    MAXIMUM_ANNOTATIONS,
    MAXIMUM_TEXT,
    MAXIMUM_TITLE,
    Annotation,
    CheckRun,
    Conclusion,
)
from tidegate.vcs.rules.forge_terms import ForgeTerms

#: Bytes of the engine's last lines that are shown at most, so that the plan has room beside them.
LAST_LINES = 20_000
#: Lines of a plan that waits for its review are shown at once; a longer one is folded.
UNFOLDED = 60
_FENCE_ROOM = 400


def check_run_name(deployment: Deployment) -> str:
    """Return the name of a deployment's check run: its root, and its stack where the root is in several."""
    name = f"tidegate/deploy: {deployment.root.name}"
    return f"{name} ({deployment.stack})" if deployment.shared else name


def render(deployment: Deployment, view: View) -> CheckRun:
    """Return the check run that shows ``deployment`` now."""
    face = presentation_of(deployment, view)
    return CheckRun(
        name=check_run_name(deployment),
        sha=deployment.revision.sha,
        external_id=deployment.id,
        status=face.status,
        conclusion=face.conclusion,
        title=one_line(face.title, MAXIMUM_TITLE),
        summary=_summary(deployment, view, face.paragraphs),
        text=_text(deployment, view),
        actions=face.actions,
        details_url=view.log_url or view.page_url or view.execution_url,
        page_url=view.page_url,
        started_at=None if face.status == "queued" else started_at(deployment),
        annotations=_annotations(deployment),
    )


def _annotations(deployment: Deployment) -> tuple[Annotation, ...]:
    """Return the errors of a failed plan or apply at their files and lines, as many as one call takes."""
    failed = deployment.state in {State.PLAN_FAILED, State.APPLY_FAILED}
    return engine_annotations(deployment.root, deployment.outcome.last_lines)[:MAXIMUM_ANNOTATIONS] if failed else ()


def started_at(deployment: Deployment) -> datetime:
    """Return when what the check run shows began: with the approval, the planning, or the request."""
    review = deployment.review
    if review is not None and review.approved and review.at:
        return review.at
    return next((step.at for step in deployment.history if step.state is State.PLANNING), deployment.request.at)


def render_continued(deployment: Deployment, url: str, answer: str = "") -> CheckRun:
    """Return what a check run says when a newer one shows the same deployment at ``url``.

    ``answer`` tells the person who clicked a button here why that had no effect.
    """
    review = deployment.review
    decided = f"{approval(deployment)} " if review is not None and review.approved is not None else ""
    notice = f"{_notice(answer)}\n\n" if answer else ""
    return _closed(
        check_run_name(deployment),
        deployment.revision.sha,
        deployment.id,
        "Continued in a newer check",
        f"{notice}{decided}This deployment continues in [a newer check]({url}). "
        "The buttons here have no effect any more.",
    )


def render_foreign(name: str, sha: str, external_id: str, problem: str) -> CheckRun:
    """Return what a check run says when it shows no deployment that is known here."""
    return _closed(name, sha, external_id, "Unknown check", escaped(problem))


def _closed(name: str, sha: str, external_id: str, title: str, summary: str) -> CheckRun:
    return CheckRun(name, sha, external_id, "completed", title, summary, conclusion=Conclusion.NEUTRAL)


def _summary(deployment: Deployment, view: View, paragraphs: Iterable[str]) -> str:
    """Join what the summary says: what destroys comes right after where it is. Long lists of addresses are cut."""
    notice = (_notice(view.notice),) if view.notice else ()
    first, *others = paragraphs
    head = (*notice, _headline(deployment, view.terms), first)
    tail = (*others, _facts(deployment, view), _links(view))
    room = MAXIMUM_TEXT - size("\n\n".join((*head, *tail))) - 10
    return "\n\n".join(part for part in (*head, *_changes(deployment, room), *tail) if part)


def _headline(deployment: Deployment, terms: ForgeTerms) -> str:
    """Return what the change is, who made it, and on which branch; an empty text if the VCS provider did not tell."""
    told = deployment.request.headline
    if not told.text:
        return ""
    number = f" ({terms.reference(told.pull_request)})" if told.pull_request else ""
    author = f" by {code(told.author)}" if told.author else ""
    return f"**{escaped(told.text)}**{number}{author} on {code(deployment.revision.branch)}"


def _notice(why: str) -> str:
    return f"> **Your click had no effect.** {escaped(why)}"


def _changes(deployment: Deployment, room: int) -> tuple[str, ...]:
    """Return what the plan changes: what it destroys and replaces first, by address."""
    if deployment.planned.plan is None or not deployment.planned.plan.changes.any:
        return ()
    changes = deployment.planned.plan.changes
    destroys, replaces = _tense(deployment.state)
    parts = [
        *_addresses(destroys, changes.destroy, changes.destroyed),
        *_addresses(replaces, changes.replace, changes.replaced),
        f"{counts(changes)}.",
    ]
    cost = cost_paragraph(deployment.planned.plan.cost)
    return cut_middle("\n\n".join(parts), room - size(cost)), cost


def _tense(state: State) -> tuple[str, str]:
    """Return what becomes of resources that a plan destroys and replaces: it did, does, was to, or would have done."""
    if state is State.APPLIED:
        return "destroyed", "replaced"
    if state in {State.APPLY_FAILED, State.OUTCOME_UNKNOWN}:
        return "was to destroy", "was to replace"
    return ("would have destroyed", "would have replaced") if is_final(state) else ("destroys", "replaces")


def _addresses(verb: str, count: int, addresses: tuple[str, ...]) -> Iterable[str]:
    if not count:
        return
    lines = [f"**This {verb} {many(count, 'resource')}:**\n"]
    lines += [f"* {code(address)}" for address in addresses]
    if count > len(addresses):
        lines.append(f"* and {count - len(addresses)} more: see the plan")
    yield "\n".join(lines)


def _facts(deployment: Deployment, view: View) -> str:
    root, terms = deployment.root, view.terms
    pull_request = f", {terms.reference(deployment.request.pull_request)}" if deployment.request.pull_request else ""
    merged = f", merged with {code(deployment.request.base_sha[:7])}" if deployment.request.base_sha else ""
    forced = " **Forced**: the apply requirements were bypassed." if deployment.request.forced else ""
    rows = [
        ("Root", f"{code(root.name)} in {code(root.dir)}, workspace {code(root.workspace)}"),
        *_part_of_change(deployment),
        ("Revision", f"{code(deployment.revision.short)} of {code(deployment.revision.branch)}{merged}{pull_request}"),
        ("Requested by", f"{_asked_for(deployment)}{forced}"),
        _made_by(deployment),
        *_receipt(view.runners),
        ("Deployment", code(deployment.id)),
    ]
    # A cell ends at a bar, also inside code. The first row is the header: Markdown has no table without one.
    lines = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows]
    return "\n".join([lines[0], "|---|---|", *lines[1:]])


def _receipt(runners: RunCost | None) -> Iterable[tuple[str, str]]:
    """Return the row about what the deployment itself cost, if a runner ran for it."""
    times = [("plan", runners.plan), ("apply", runners.apply)] if runners else []
    told = [f"{name} {duration(timedelta(seconds=seconds))}" for name, seconds in times if seconds is not None]
    if runners and told:
        yield "Runners", f"{', '.join(told)}: about ${runners.cost / 1_000_000:.4f}"


def _made_by(deployment: Deployment) -> tuple[str, str]:
    """Return the row about the engine, or about the provider of a cluster that no engine makes."""
    root, plan, cluster = deployment.root, deployment.planned.plan, deployment.settings.run.cluster
    if cluster is not None and cluster.provider is not ProviderName.TERRAFORM:
        return "Provider", code(f"{cluster.provider} {plan.engine_version if plan else ''}".strip())
    version = plan.engine_version if plan else root.engine.version or ""
    return "Engine", code(f"{root.engine.name.value} {version}".strip())


def _part_of_change(deployment: Deployment) -> Iterable[tuple[str, str]]:
    """Return the rows about the change set: what is so for a root on its own is not said."""
    layer = f"layer {deployment.change.layer} of {deployment.change.layers}" if deployment.change.layers > 1 else ""
    stack = code(deployment.stack) if deployment.stack != DEFAULT_STACK or deployment.shared else ""
    if stack:
        yield "Stack", ", ".join(filter(None, (stack, layer)))
    elif layer:
        yield "Layer", layer.removeprefix("layer ")
    if deployment.change.why and deployment.change.id:
        yield "Part of the change", escaped(deployment.change.why)


def _asked_for(deployment: Deployment) -> str:
    how = {
        Trigger.MERGE: "by a merge",
        Trigger.MANUAL: "manually",
        Trigger.RERUN: "by re-running the check",
        Trigger.DRIFT: "by a schedule that found drift",
    }
    what = ", to destroy the resources of the root" if deployment.request.destroy else ""
    return f"{code(deployment.request.by)} {how[deployment.request.trigger]}{what}, {moment(deployment.request.at)}"


def _links(view: View) -> str:
    links = {
        "Log": view.log_url,
        "Deployment": view.page_url,
        "Queue": view.queue_url,
        "Change": view.change_url,
        "Execution": view.execution_url,
    }
    return " · ".join(f"[{name}]({url})" for name, url in links.items() if url)


def _text(deployment: Deployment, view: View) -> str:
    """Return the engine's last words and the plan, within the limit: the plan's middle is cut first."""
    parts = []
    if deployment.outcome.last_lines:
        lines = fenced(cut_middle(deployment.outcome.last_lines.rstrip(), LAST_LINES))
        log = f" ([full log]({view.log_url}))" if view.log_url else ""
        parts.append(f"Last lines of the engine's output{log}:\n\n{lines}")
    if deployment.planned.plan is not None and view.plan_text:
        key = code(place(view, deployment.planned.plan.text.key), 1000)
        log = f"[its log]({view.plan_url}) and in " if view.plan_url else ""
        whole = f"The full plan is in {log}{key}."
        room = MAXIMUM_TEXT - size("\n\n".join([*parts, whole])) - _FENCE_ROOM
        plan = fenced_plan(view.plan_text, view.plan_size, room)
        parts += [plan if _is_read_at_once(deployment, plan) else folded("Plan", plan), whole]
    return "\n\n".join(parts)


def _is_read_at_once(deployment: Deployment, plan: str) -> bool:
    """Tell whether the plan needs no fold: it is to be decided about, and short."""
    return deployment.state is State.AWAITING_REVIEW and plan.count("\n") - 1 <= UNFOLDED
