"""Output of ``tidegate queue``, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.web.models import HeadlineModel, PlaceModel, QueueModel

_SHOWN = 20


def queue(shown: QueueModel, *, everything: bool) -> RenderableType:
    """Return a root's queue: its lock, what runs, what waits (the first 20 unless ``everything``)."""
    return Group(
        screen.text(f"{shown.repository} · {shown.root}", "bold"),
        screen.facts([(_what(shown), (shown.deployed_revision or "")[:7] or "nothing yet")]),
        *_lock(shown),
        *_running(shown),
        *_line(shown.waiting, everything=everything),
    )


def _what(shown: QueueModel) -> str:
    """Return what became of the revision that new ones are compared with."""
    if shown.destroyed:
        return "Destroyed"
    return "Attempted" if shown.deployed_state in {"apply_failed", "outcome_unknown"} else "Deployed"


def _lock(shown: QueueModel) -> Iterator[RenderableType]:
    lock = shown.lock
    if lock is None:
        return
    at = f" at {lock.revision[:7]}" if lock.revision else ""
    what = f"{presenter.locked_scope(lock)} locked".lstrip()
    yield Text()
    who = f" by {presenter.person(lock.by, lock.at)}{at}{presenter.lock_end(lock)}"
    yield Text.assemble(screen.text(what[0].upper() + what[1:], "bold red"), screen.text(who))
    yield from presenter.indented(lock.reason)
    yield presenter.command(presenter.unlocking(shown.repository, shown.root, lock))


def _running(shown: QueueModel) -> Iterator[RenderableType]:
    now = shown.running
    yield Text()
    if now is None:
        yield Text("Nothing runs.")
        return
    who = presenter.person(now.requested_by, now.requested_at)
    yield Text.assemble(("Now  ", "bold"), screen.state(now.state))
    yield screen.text(f"  {now.revision[:7]}  {presenter.trigger(now)} by {who}{_title(now.headline)}")
    yield presenter.unfolded(f"  {now.id}", "dim")
    if now.changes:
        yield Text.assemble("  ", presenter.planned(now))
    yield from presenter.next_steps(now, has_log=now.state != "queued")


def _title(told: HeadlineModel | None) -> str:
    title = presenter.headline(told)
    return f"  {title}" if title else ""


def _line(waiting: Sequence[PlaceModel], *, everything: bool) -> Iterator[RenderableType]:
    yield Text()
    if not waiting:
        yield Text("Nothing waits.")
        return
    yield Text.assemble(("Waiting  ", "bold"), str(len(waiting)))
    shown = waiting if everything else waiting[:_SHOWN]
    for item in shown:
        by = f"by {item.requested_by}, " if item.requested_by else ""
        line = f"{item.place:>4}  {item.revision[:7]}  {presenter.trigger(item)} {by}{screen.ago(item.requested_at)}"
        line = f"{line}{_title(item.headline)}"
        yield screen.text(line, "magenta" if item.trigger == "manual" else "")
        yield presenter.unfolded(f"      {item.id}", "dim")
    if len(shown) < len(waiting):
        yield screen.text(f"      … and {len(waiting) - len(shown)} more; --all shows them")
