"""What ``tidegate updates`` prints, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from tidegate_cli import presenter, screen

if TYPE_CHECKING:
    from tidegate.web.update_models import (
        EnvironmentModel,
        ImageSetModel,
        ImageSetsModel,
        UpdateEntryModel,
        UpdatesQueueModel,
    )

_STATES = {
    "queued": ("· queued", "dim"),
    "testing": ("● testing", "cyan"),
    "landed": ("✔ landed", "green"),
    "evicted": ("✘ evicted", "red"),
    "failed": ("✘ failed", "bold red"),
    "superseded": ("· superseded", "dim"),
    "noop": ("· no change", "dim"),
}
_VERDICTS = {"pass": " (checks passed)", "fail": " (checks failed)"}


def queue(found: UpdatesQueueModel) -> RenderableType:
    """Return a queue: why it stands still, its entries from the lowest, and those that have left."""
    return Group(screen.text(found.repository, "bold"), *_stops(found), *_entries(found.entries), *_left(found.recent))


def _stops(found: UpdatesQueueModel) -> Iterator[RenderableType]:
    if found.paused:
        yield screen.text(f"Paused by {presenter.person(found.paused.by, found.paused.at)}", "bold red")
        yield from presenter.indented(found.paused.reason)
        yield presenter.command(f"tidegate updates resume {found.repository}")
    reasons = dict.fromkeys([found.blocked.reason if found.blocked else "", found.problem])
    if any(reasons):
        yield screen.text("Blocked", "bold red")
        for reason in filter(None, reasons):
            yield from presenter.indented(reason)


def _entries(entries: Sequence[UpdateEntryModel]) -> Iterator[RenderableType]:
    yield Text()
    if not entries:
        yield Text("The queue is empty.")
        return
    table = screen.table("", "State", "Where", "What", "By", "Entry", right=("",), whole=("Entry",))
    for each in entries:
        table.add_row(str(each.position or ""), _state(each), *_columns(each), screen.text(each.id))
    yield table
    waits: dict[str, list[str]] = {}
    for each in entries:
        waits.setdefault(each.waits_for, []).append(str(each.position or each.id))
    # Sentences in a cell would make its column so wide that the id does not fit into the line.
    yield screen.facts([(", ".join(positions), waits_for) for waits_for, positions in waits.items() if waits_for])


def _left(recent: Sequence[UpdateEntryModel]) -> Iterator[RenderableType]:
    if not recent:
        return
    yield Text("\nLeft the queue", "bold")
    table = screen.table("When", "State", "Where", "What", "By", "Entry", whole=("Entry",))
    for each in recent:
        when = screen.ago(each.ended_at) if each.ended_at else ""
        table.add_row(when, _state(each), *_columns(each), screen.text(each.id))
    yield table


def _state(one: UpdateEntryModel) -> Text:
    words, style = _STATES.get(one.state, (str(one.state), ""))
    more = " (covered)" if one.covered else _VERDICTS.get(one.verdict or "", "")
    return screen.text(f"{words}{more}", style)


def _columns(one: UpdateEntryModel) -> tuple[Text, Text, Text]:
    return screen.text(f"{one.image_set}/{one.environment}"), screen.text(_what(one)), screen.text(one.by)


def _what(one: UpdateEntryModel) -> str:
    if one.kind == "announcement":
        return one.app_sha[:10]
    verb = "from" if one.kind == "promotion" else "back to"
    return f"{verb} {one.source_environment if one.kind == 'promotion' else ''} {one.source_sha[:10]}".replace(
        "  ", " "
    )


def entry(one: UpdateEntryModel) -> RenderableType:
    """Return an entry with all that is known of it."""
    return Group(
        screen.text(f"{one.image_set} · {one.environment}", "bold"),
        Text.assemble(_state(one), "  ", screen.text(_what(one))),
        screen.facts(
            [
                ("Reason", one.reason),
                ("Waits for", one.waits_for),
                ("Position", str(one.position or "")),
                ("Requested", f"{one.by}, {screen.moment(one.requested_at)}"),
                ("Application", one.app_sha),
                ("Sequence", str(one.sequence or "")),
                ("CI run", one.run_url),
                ("Taken from", one.source_sha),
                ("Commit", one.commit),
                ("Attempt", str(one.attempt)),
                ("Ended", screen.moment(one.ended_at) if one.ended_at else ""),
                ("Entry", one.id),
            ]
        ),
    )


def sets(found: ImageSetsModel) -> RenderableType:
    """Return image sets, each with what is where."""
    return Group(*(part for each in found.sets for part in _set(found.repository, each)))


def _set(repository: str, one: ImageSetModel) -> Iterator[RenderableType]:
    yield Text.assemble(screen.text(one.name, "bold"), "  ", screen.text(f"announced by {one.app}", "dim"))
    if one.held:
        yield screen.text(f"Held by {presenter.person(one.held.by, one.held.at)}", "bold red")
        yield from presenter.indented(one.held.reason)
        yield presenter.command(f"tidegate updates release {repository} {one.name}")
    table = screen.table("Environment", "Application", "Since", "Config", "Targets", "On its way", whole=("Config",))
    for each in one.environments:
        table.add_row(*_environment(each))
    yield table
    yield screen.facts([(each.name, each.waits_for) for each in one.environments])
    yield Text()


def _environment(one: EnvironmentModel) -> tuple[Text, ...]:
    done = sum(each.current for each in one.targets)
    failed = [each.target for each in one.targets if each.failed]
    coming = ", ".join(each.app_sha[:10] or each.source_sha[:10] for each in one.coming)
    targets = f"{done} of {len(one.targets)}" + (f", failed: {', '.join(failed)}" if failed else "")
    newest = one.newest
    style = "green" if one.complete else "red" if failed else ""
    if newest is None:
        return screen.text(one.name), Text("nothing yet", "dim"), Text(), Text(), Text(), screen.text(coming)
    app = newest.app_sha[:10] or newest.kind
    since = screen.ago(newest.at)
    return tuple(
        screen.text(*each)
        for each in ((one.name,), (app,), (since,), (newest.commit[:10],), (targets, style), (coming,))
    )
