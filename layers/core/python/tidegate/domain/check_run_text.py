"""What a check run says about a deployment: where it is, what happens next, and what people may do.

``summary`` holds what everybody should read, ``text`` the plan and the engine's last words. Both stay
within the forge's limit; what is cut is the least important first, and the text says how much is
missing and where the whole is.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidegate.domain.check_run import MAXIMUM_TEXT, MAXIMUM_TITLE, CheckRun, Conclusion
from tidegate.domain.check_run_face import View, face_of, place
from tidegate.domain.deployment import Deployment
from tidegate.domain.markdown import code, escaped, fenced, folded, one_line, size
from tidegate.domain.plan_text import as_diff, cut_middle, cut_start
from tidegate.domain.review import moment

#: Bytes of the engine's last lines that are shown at most, so that the plan has room beside them.
LAST_LINES = 20_000
_FENCE_ROOM = 400


def check_run_name(root: str) -> str:
    """Return the name of the check run of a root's deployments."""
    return f"tidegate/deploy: {root}"


def render(deployment: Deployment, view: View) -> CheckRun:
    """Return the check run that shows ``deployment`` now."""
    face = face_of(deployment, view)
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


def _summary(deployment: Deployment, view: View, paragraphs: Iterable[str]) -> str:
    """Join what the summary says: what destroys comes right after where it is. Long lists of addresses are cut."""
    notice = (f"> **Your press had no effect.** {escaped(view.notice)}",) if view.notice else ()
    first, *others = paragraphs
    head, tail = (*notice, first), (*others, _facts(deployment), _links(deployment, view))
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
        + (f", {changes.moved} to move in the state only" if changes.moved else "")
        + (f", {changes.actions} actions of providers to invoke" if changes.actions else "")
        + (f", {changes.deferred} left to a later apply" if changes.deferred else ""),
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


def _text(deployment: Deployment, view: View) -> str:
    """Return the engine's last words and the plan, within the limit: the plan's middle is cut first."""
    parts = []
    if deployment.last_lines:
        parts.append("The engine's last lines:\n\n" + fenced(cut_start(deployment.last_lines.rstrip(), LAST_LINES)))
    if deployment.plan is not None and view.plan_text:
        whole = f"The whole plan: {code(place(view, deployment.plan.text.key), 1000)}"
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
