"""Output of ``tidegate pulls``, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tidegate.comments.rules.command import MAXIMUM_ROOTS
from tidegate.deploys.rules.left_behind import stays
from tidegate.vcs.rules.forge_terms import terms_of
from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.web.pull_request_models import (
        LayerModel,
        PullRequestBrief,
        PullRequestDetails,
        PullRequestsList,
        VerdictModel,
    )

#: Lines of a failed engine that are shown, with the first error among them; the log has all.
_LAST_LINES = 12
_WORDS = {
    "DiscoveryNeeded": "discovering affected roots",
    "Planning": "planning",
    "CommentNeeded": "writing the comment",
}
#: How the verdict reads, and its colour by the conclusion of its check run.
_VERDICTS = {
    "passed": "✔ passed",
    "conflict": "✘ merge conflict",
    "failed": "✘ failed",
    "refused": "✘ refused",
    "held_up": "■ blocked",
    "incomplete": "✘ incomplete",
    "with_options": "◆ no verdict",
    "not_planned": "↷ not planned",
}
_STYLES = {"success": "green", "failure": "red", "action_required": "yellow"}


def pulls(listed: PullRequestsList, *, with_repository: bool, query: str = "") -> RenderableType:
    """Return open pull requests, one a line, or more where the terminal is narrow: titles and states share the room."""
    if not listed.pull_requests and query:
        return screen.text(f"No open pull or merge request matches. {listed.hint}".rstrip())
    if not listed.pull_requests:
        return screen.text("No pull or merge request is open.")
    number = terms_of(listed.pull_requests[0].reference).pull_request.upper()
    # A repository's name stays whole for who copies it; without it, the head of the column is all that is long.
    whole = ("STATE", "HEAD", "OPENED", number) if with_repository else ("STATE", "HEAD", "OPENED")
    with_stacks = any(set(one.stacks) - {"default"} for one in listed.pull_requests)
    columns = [number, "STATE", "HEAD", "BY", "OPENED", *(["STACKS"] if with_stacks else []), "TITLE"]
    table = screen.table(*columns, whole=whole, spare=["HEAD", "OPENED"])
    for one in listed.pull_requests:
        name = f"{one.repository}{one.reference}" if with_repository else one.reference
        title = screen.text(f"{one.title}{'  (draft)' if one.draft else ''}")
        stacks = [screen.text(", ".join(one.stacks))] if with_stacks else []
        opened = screen.ago(one.opened_at)
        table.add_row(
            screen.text(name), _listed(one), one.revision[:7], screen.text(one.author), opened, *stacks, title
        )
    return table


def pull(one: PullRequestDetails) -> RenderableType:
    """Return one pull request: what a merge would do, and what is left out."""
    passed = {each.name: each.approved_by for each in one.policy_sets if not each.blocking}
    return Group(
        screen.text(f"{one.repository}{one.reference}  {one.title}", "bold"),
        screen.facts(
            [
                ("State", _told(one)),
                ("Head", f"{one.revision[:7]} of {one.branch}, by {one.author}"),
                ("Base", f"{one.base_revision[:7]} of {one.base}"),
                ("Page", presenter.unfolded(one.url)),
                ("Forge", presenter.unfolded(one.forge_url or "")),
            ]
        ),
        *_notice(one),
        *(part for layer in one.layers for part in _layer(layer, passed)),
        *_left_behind(one),
        *_sets(one),
    )


def _listed(one: PullRequestBrief) -> Text:
    """Return the state for a line of a list, which has no room for the verdict's title."""
    older = screen.text(", out of date", "yellow") if one.outdated else ""
    return Text.assemble(_state(one), older)


def _state(one: PullRequestBrief) -> Text:
    if one.closed_at:
        return screen.text("merged" if one.merged else "closed")
    if one.verdict and one.verdict.kind in _VERDICTS:
        return screen.text(_VERDICTS[one.verdict.kind], _STYLES.get(one.verdict.conclusion, "dim"))
    if one.state == "Idle":
        return screen.text(_VERDICTS["not_planned"] if one.notice else "– no roots", "dim")
    return screen.text(_WORDS.get(one.state, one.state))


def _told(one: PullRequestBrief) -> Text:
    """Return the state, and the verdict's title where it says more."""
    state, title = _state(one), one.verdict.title if one.verdict else ""
    says_more = title and not state.plain.lower().endswith(f" {title.lower()}")
    return Text.assemble(state, screen.text(f": {title}")) if says_more else state


def _notice(one: PullRequestDetails) -> Iterator[RenderableType]:
    conflict = next((layer.reason for layer in one.layers if layer.conflict), "")
    rules = [f"It changes who may do what, or what runs: {', '.join(one.rule_changes)}."] if one.rule_changes else []
    for line in (*conflict.splitlines(), *one.notice.splitlines(), *rules):
        yield Text()
        yield from presenter.indented(line)


def _layer(layer: LayerModel, passed: Mapping[str, Sequence[str]]) -> Iterator[RenderableType]:
    yield Text()
    name = layer.root if layer.stack == "default" else f"{layer.root} ({layer.stack})"
    if layer.conflict:  # All have the same reason, which is said once.
        yield Text.assemble(screen.text(name, "bold"), "  ", screen.text("↷ not planned", "dim"))
        return
    if _is_gone(layer):
        yield Text.assemble(screen.text(name, "bold"), "  ", screen.text(f"gone: {stays(layer.left)}", "yellow"))
    else:
        yield Text.assemble(screen.text(name, "bold"), "  ", screen.state(layer.state))
    if layer.changes:
        yield Text.assemble("  ", presenter.planned(layer))
    for line in (*([layer.why] if layer.gone else []), *layer.reason.splitlines()):
        yield from presenter.indented(line)
    lines = layer.last_lines.splitlines()
    error = next((at for at, line in enumerate(lines) if "Error: " in line), len(lines))
    start = min(error, max(0, len(lines) - _LAST_LINES))
    for line in lines[start : start + _LAST_LINES]:
        yield screen.text(f"    {line}", "dim")
    for verdict in layer.policies:
        yield from _verdict(verdict, passed)
    if layer.job:
        yield presenter.unfolded(f"  {layer.job.url}", "dim")


def _is_gone(layer: LayerModel) -> bool:
    """Tell whether the pull request takes the root away, and it is known what stays behind, or why it is not."""
    return layer.gone and layer.state == "no_changes"


def _left_behind(one: PullRequestDetails) -> Iterator[RenderableType]:
    """Yield what destroys what stays behind of roots that are gone."""
    left = [layer.root for layer in one.layers if _is_gone(layer) and layer.left != 0]
    if not left or (one.closed_at and not one.merged):
        return
    yield Text()
    when = "" if one.merged else ", once this is merged"
    yield from presenter.indented(f"The merge destroys no resources of deleted roots. To destroy them{when}:")
    for start in range(0, len(left), MAXIMUM_ROOTS):
        some = " ".join(left[start : start + MAXIMUM_ROOTS])
        yield presenter.unfolded(f"  tidegate destroy {one.repository} {some}", "dim")


def _sets(one: PullRequestDetails) -> Iterator[RenderableType]:
    """Yield how the blocking policy sets can be approved."""
    for each in one.policy_sets:
        if each.blocking:
            yield Text()
            owners = f"get approvals from {each.approvals} of its owners: {', '.join(each.owners)}"
            yield from presenter.indented(
                f"Policy set {each.name} blocks the merge. Change the plan{f', or {owners}' if each.owners else ''}."
            )


def _verdict(verdict: VerdictModel, passed: Mapping[str, Sequence[str]]) -> Iterator[RenderableType]:
    """Yield a set's verdict on a plan. ``passed`` are the sets that owners approved, and by whom."""
    if verdict.failed and verdict.policy_set in passed:
        by = ", ".join(passed[verdict.policy_set]) or "its owners"
        yield screen.text(f"  policy {verdict.policy_set} fails, approved by {by}")
    else:
        word = "fails" if verdict.failed else "passes"
        yield screen.text(f"  policy {verdict.policy_set} {word}", "red" if verdict.failed else "")
    if verdict.error:
        yield Padding(screen.text(verdict.error), (0, 0, 0, 4), expand=False)
    for finding in verdict.findings:
        about = f" ({finding.address})" if finding.address else ""
        passes = f", exempted by {finding.exempted_by}" if finding.exempted_by else ""
        told = screen.text(f"{finding.severity}: {finding.message}{about}{passes}")
        yield Padding(told, (0, 0, 0, 4), expand=False)
