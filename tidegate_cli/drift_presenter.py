"""What ``tidegate drift`` prints, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.web.drift_models import DriftFindingModel, DriftList, DriftScheduleModel

_STATES = {
    "drifted": ("drifted", "yellow"),
    "failed": ("the plan failed", "red"),
    "skipped": ("not checked", "dim"),
    "none": ("no drift", "green"),
}


def drift(found: DriftList) -> RenderableType:
    """Return schedules, each with the roots that it checked."""
    if not found.schedules:
        return screen.text("No drift schedules are configured. Add one under drift in tidegate.yaml.")
    return Group(*(part for one in found.schedules for part in _schedule(one)))


def _schedule(one: DriftScheduleModel) -> Iterator[RenderableType]:
    yield Text.assemble(screen.text(f"{one.repository}  {one.schedule}", "bold"), "  ", screen.text(one.when, "dim"))
    yield screen.text(f"  {_last(one)}")
    yield from presenter.indented(one.problem)
    yield from presenter.indented(one.notice)
    for root in one.roots:
        yield from _root(root)
    if one.issue_url:
        yield presenter.unfolded(f"  {one.issue_url}", "dim")
    yield Text()


def _last(one: DriftScheduleModel) -> str:
    now = "A run is in progress. " if one.running else ""
    if one.looked_at is None:
        return f"{now}No run yet."
    title = presenter.headline(one.headline)
    at = f" at {one.revision[:7]}{f' ({title})' if title else ''}" if one.revision else ""
    return f"{now}Last run {screen.ago(one.looked_at)}{at}."


def _root(root: DriftFindingModel) -> Iterator[RenderableType]:
    name = root.root if root.stack == "default" else f"{root.root} ({root.stack})"
    words, style = ("undone", "green") if root.undoing == "undone" else _STATES.get(root.state, (root.state, ""))
    since = f", since {screen.ago(root.drifted_since)}" if root.drifted_since else ""
    yield Text.assemble("  ", screen.text(name), "  ", screen.text(f"{words}{since}", style))
    if root.changes and root.drifted_since:
        yield Text.assemble("    ", presenter.changes(root.changes))
    yield from presenter.indented(root.reason)
    if root.undoing == "absent":
        yield from presenter.indented("The requested deployment is not queued yet, or it was refused.")
    if root.deployment:
        yield presenter.command(f"tidegate status {root.deployment}")
    if root.job and root.state != "none":
        yield presenter.unfolded(f"    {root.job.url}", "dim")
