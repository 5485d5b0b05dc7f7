"""The check runs of a pull request: ``tidegate/plan`` for the whole, ``tidegate/plan: ROOT`` for each layer."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.cost_text import cost_paragraph
from tidegate.deploys.texts.engine_annotations import engine_annotations
from tidegate.deploys.texts.plan_slots import NOBODY_WAITS, WaitingPlans
from tidegate.deploys.texts.plan_text import cut_middle, fenced_plan
from tidegate.deploys.texts.presentation import many, people
from tidegate.plans.rules.counts import counts_and_cost
from tidegate.pull_requests.rules.blocks import LAST_LINES, LayerView, alarms, because, link, result, table
from tidegate.pull_requests.rules.record import PullRequestRecord, VerdictKind
from tidegate.pull_requests.rules.remarks import AGAIN, conflict, left_behind, not_planned, older, rules, with_options
from tidegate.pull_requests.rules.tally import Tally, by_importance, tally
from tidegate.texts.markdown import bounded, code, escaped, fenced, one_line, prose
from tidegate.vcs.rules.check_run import (
    MAXIMUM_TEXT,
    MAXIMUM_TITLE,
    MOST_ANNOTATIONS,
    Annotation,
    CheckRun,
    Conclusion,
)
from tidegate.vcs.rules.pull_request_check_names import WHOLE

_SEVERAL = 2
#: Bytes of the table of roots, and of what is destroyed.
_TABLE, _DESTROYED, _REMARKS, _WAITING, _NOTICE = 35_000, 12_000, 5_000, 1_000, 20_000

_ENDED = {
    LayerState.PLANNED: ("Planned", Conclusion.SUCCESS),
    LayerState.NO_CHANGES: ("Nothing to change", Conclusion.SUCCESS),
    LayerState.FAILED: ("The plan failed", Conclusion.FAILURE),
    LayerState.REFUSED: ("Not planned: it was refused", Conclusion.FAILURE),
    LayerState.CANCELLED: ("Not planned", Conclusion.CANCELLED),
}
_CONFLICT = "Not planned: merge conflict", Conclusion.FAILURE


def render_whole(
    record: PullRequestRecord,
    views: Sequence[LayerView],
    page_url: str,
    blocking: Sequence[str] = (),
    fault: str = "",
    *,
    waiting: WaitingPlans = NOBODY_WAITS,
    unwritten: str = "",
) -> CheckRun:
    """Return the check run of the whole. ``page_url`` lists all of the pull request.

    ``blocking`` are the policy sets that block the merge, ``fault`` is the internal error, if any, ``waiting`` are the
    plans that wait for a slot. ``unwritten`` is why the comments could not be written, if so.
    """
    title, summary, conclusion = _whole(record, views, link("this page", page_url), blocking, fault, waiting=waiting)
    if unwritten:
        summary += f"\n\n**The comments could not be written.** {escaped(unwritten, 500)}"
    return CheckRun(
        name=WHOLE,
        sha=record.spec.head_sha,
        external_id=record.execution,
        status="completed" if conclusion else "in_progress",
        title=one_line(title, MAXIMUM_TITLE),
        summary=summary,
        conclusion=conclusion,
        details_url=page_url,
    )


def verdict_kind(
    record: PullRequestRecord, layers: Sequence[SpeculativePlan], blocking: Sequence[str], fault: str
) -> VerdictKind:
    """Return the kind of verdict on a pull request whose layers have ended. Arguments are as for the check run."""
    found = tally(layers)
    is_so = (
        (VerdictKind.CONFLICT, bool(conflict(layers)) and not fault),
        (VerdictKind.FAILED, bool(fault or found.failed)),
        (VerdictKind.REFUSED, bool(found.refused)),
        (VerdictKind.HELD_UP, not {*blocking}.isdisjoint(found.failing)),
        (VerdictKind.NOT_PLANNED, bool(record.notice) and not layers),
        (VerdictKind.INCOMPLETE, bool(record.notice or found.unplanned)),
        (VerdictKind.WITH_OPTIONS, any(each.options for each in layers)),
        (VerdictKind.HELD_UP, bool(blocking)),
    )
    return next((kind for kind, holds in is_so if holds), VerdictKind.PASSED)


def render_layer(view: LayerView) -> CheckRun:
    """Return the check run of a layer that has ended."""
    layer = view.layer
    title, conclusion = _CONFLICT if layer.conflict else _ENDED[layer.state]
    if layer.state is LayerState.PLANNED and layer.plan:
        title = counts_and_cost(layer.plan.changes, layer.plan.cost)
    if layer.is_gone:
        title = result(layer)
        conclusion = Conclusion.SUCCESS if layer.left == 0 else Conclusion.NEUTRAL
    return CheckRun(
        name=layer_check_name(layer),
        sha=layer.sha,
        external_id=layer.id,
        status="completed",
        title=one_line(title, MAXIMUM_TITLE),
        summary=_layer_summary(view),
        text=_layer_text(view),
        conclusion=conclusion,
        details_url=view.log_url,
        annotations=_annotations(layer),
    )


def _annotations(layer: SpeculativePlan) -> tuple[Annotation, ...]:
    """Return the errors of a failed plan at their files and lines."""
    failed = layer.state is LayerState.FAILED
    return engine_annotations(layer.root, layer.last_lines)[:MOST_ANNOTATIONS] if failed else ()


def render_stopped(record: PullRequestRecord, reason: str, page_url: str) -> CheckRun:
    """Return the check run of the whole for a commit without further work, with the reason."""
    return CheckRun(
        WHOLE,
        record.spec.head_sha,
        record.execution,
        "completed",
        one_line(reason, MAXIMUM_TITLE),
        f"{prose(reason)} Plans of {code(record.spec.head_sha[:7])} are not shown.",
        conclusion=Conclusion.CANCELLED,
        details_url=page_url,
    )


def layer_check_name(layer: SpeculativePlan) -> str:
    """Return the name of a layer's check run: its root, and its stack where the root is in several."""
    name = f"{WHOLE}: {layer.root.name}"
    return f"{name} ({layer.stack})" if layer.shared else name


def _whole(
    record: PullRequestRecord,
    views: Sequence[LayerView],
    everything: str,
    blocking: Sequence[str],
    fault: str,
    *,
    waiting: WaitingPlans,
) -> tuple[str, str, Conclusion | None]:
    """Return title, summary and conclusion; None while in progress."""
    if fault:
        again = f"Operators have been alerted. {AGAIN}"
        why = f"Planning stopped with an internal error: {escaped(fault, 500)} {again}"
        return "Internal error", f"{why}\n\n{_roots(views, everything)}".strip(), Conclusion.FAILURE
    if record.discovered != record.spec.revision:
        return "Planning starts", "Tidegate is finding the changed roots.", None
    if not record.layers:
        return _unplanned(record, blocking)
    return _counted(record, views, everything, blocking, waiting)


def _unplanned(record: PullRequestRecord, blocking: Sequence[str]) -> tuple[str, str, Conclusion]:
    """Return the text for a pull request without layers."""
    if record.notice:
        lines = [f"{prose(line, 2000)}\n" for line in record.notice.splitlines()]
        why = bounded(lines, _NOTICE, lambda count: f"… and {count} more lines.").rstrip()
        return "Not planned", why, _of_unplanned(record)
    conclusion = Conclusion.FAILURE if blocking else Conclusion.SUCCESS
    changes = rules(record.rule_changes.changes)
    if record.notes:
        summary = _paragraphs(_held_up(blocking), changes, not_planned("", record.notes, _REMARKS))
        return "Nothing is planned automatically", summary, conclusion
    summary = _paragraphs(_held_up(blocking), changes, "Merging this changes no root, so there is nothing to plan.")
    return "No root would change, but rules would" if changes else "No root would change", summary, conclusion


def _paragraphs(*parts: str) -> str:
    return "\n\n".join(filter(None, parts))


def _held_up(blocking: Sequence[str]) -> str:
    return f"**Blocked by {_sets(blocking)}.** Each has a check of its own." if blocking else ""


def _of_unplanned(record: PullRequestRecord) -> Conclusion:
    """Return the verdict on a pull request that is not planned, on purpose or of necessity.

    Check runs belong to commits. A neutral one counts as passed, also for another pull request of the same commit: so
    it must not be given where policy sets would block.
    """
    if not (record.spec.from_fork or record.skipped):
        return Conclusion.FAILURE
    return Conclusion.ACTION_REQUIRED if record.guarded else Conclusion.NEUTRAL


def _counted(
    record: PullRequestRecord,
    views: Sequence[LayerView],
    everything: str,
    blocking: Sequence[str],
    waiting: WaitingPlans,
) -> tuple[str, str, Conclusion | None]:
    layers = [each.layer for each in views]
    found = tally(layers)
    summary = "\n\n".join(
        filter(
            None,
            (
                f"**{many(found.total, 'root')}**: {found}.",
                escaped(str(waiting), _WAITING),
                _held_up(blocking),
                rules(record.rule_changes.changes),
                older(record.older),
                with_options(layers),
                left_behind(layers, _REMARKS),
                _roots(views, everything),
                not_planned(record.notice, record.notes, _REMARKS),
            ),
        )
    )
    done = sum(1 for each in layers if each.is_done)
    if done < found.total:
        behind = f", {len(waiting)} waiting for a concurrency slot" if waiting else ""
        return f"Planning… {done} of {found.total} done{behind}", summary, None
    if why := conflict(layers):
        missing = not_planned(record.notice, record.notes, _REMARKS)
        return f"Conflicts with {record.spec.base}", f"{escaped(why)}\n\n{missing}".strip(), Conclusion.FAILURE
    return _title(record, found, layers, blocking), summary, _conclusion(record, found, layers, blocking)


def _title(record: PullRequestRecord, found: Tally, layers: Sequence[SpeculativePlan], blocking: Sequence[str]) -> str:
    parts = [
        str(found),
        f"blocked by {many(len(blocking), 'policy set')}" if blocking else "",
        "some roots could not be planned" if record.notice else "",
        "planned with options" if any(each.options for each in layers) else "",
        f"older than {record.spec.base}" if record.overtaken else "",
    ]
    return "; ".join(filter(None, parts))


def _conclusion(
    record: PullRequestRecord, found: Tally, layers: Sequence[SpeculativePlan], blocking: Sequence[str]
) -> Conclusion:
    """Return the verdict. Plans with options are informational: otherwise whoever chooses what is planned would decide
    it.
    """
    if found.failed or found.refused or found.unplanned or blocking or record.notice:
        return Conclusion.FAILURE
    return Conclusion.ACTION_REQUIRED if any(each.options for each in layers) else Conclusion.SUCCESS


def _sets(names: Sequence[str]) -> str:
    word = "policy set" if len(names) == 1 else "policy sets"
    return f"{word} {people(tuple(names))}"


def _roots(views: Sequence[LayerView], everything: str) -> str:
    ordered = {each.layer.id: each for each in views}
    layers = by_importance(each.layer for each in views)
    rows = table([ordered[each.id] for each in layers], _TABLE, everything) if views else ""
    return "\n\n".join(filter(None, (*alarms(layers, _DESTROYED), rows)))


def _layer_summary(view: LayerView) -> str:
    layer = view.layer
    stack = f" of stack {code(layer.stack)}" if layer.shared or layer.stack != DEFAULT_STACK else ""
    place = f"Root {code(layer.root.name)}{stack} in {code(layer.root.dir)}, workspace {code(layer.root.workspace)}."
    why = escaped(layer.why, 300)
    parts = (
        left_behind([layer], _REMARKS),
        _why_not(layer),
        *alarms([layer], _DESTROYED),
        cost_paragraph(layer.plan.cost) if layer.plan else "",
        place,
        why,
        link("Log", view.log_url),
    )
    return "\n\n".join(filter(None, parts))


def _why_not(layer: SpeculativePlan) -> str:
    """Return why there is no plan; several reasons as a list."""
    if len(layer.reason.splitlines()) < _SEVERAL:
        return escaped(layer.reason)
    return because(layer.reason).removeprefix(":").strip()


def _layer_text(view: LayerView) -> str:
    layer = view.layer
    if layer.state is LayerState.PLANNED and view.plan_text:
        return fenced_plan(view.plan_text, view.plan_size, MAXIMUM_TEXT)
    if layer.last_lines:
        lines = fenced(cut_middle(layer.last_lines.rstrip(), 4 * LAST_LINES))
        return f"Last lines of the engine's output:\n\n{lines}"
    return ""
