"""``tidegate insights``: how deploying goes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound, WrongUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from tidegate.web.insight_models import Duration, FiguresModel, InsightsModel

_TIMES = ("lead_time", "review_wait", "queue_time", "run_time")
#: Roots and providers that are shown; ``--json`` has more.
_SLOWEST = 5


class Days(StrEnum):
    """The times that the API has figures of."""

    WEEK = "7"
    MONTH = "30"
    QUARTER = "91"
    YEAR = "364"


_SPANS = {Days.WEEK: "7d", Days.MONTH: "30d", Days.QUARTER: "13w", Days.YEAR: "52w"}


def insights(
    repository: Annotated[
        str | None,
        typer.Argument(
            metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME. Without it: all repositories."
        ),
    ] = None,
    *,
    days: Annotated[
        Days, typer.Option("--days", metavar="7|30|91|364", help="Of so many days, until today (UTC).")
    ] = Days.MONTH,
    csv: Annotated[bool, typer.Option("--csv", help="Print a CSV file with a line for each stack.")] = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show how often, how fast and how well deployments went, by stack, and what was slowest."""
    from tidegate_cli import lookup, screen

    if csv and json:
        raise WrongUsage("--csv and --json print different formats.", "Use one of them.")
    with open_client(url, person) as client:
        name = lookup.repository(repository) if repository else None
        try:
            found = client.insights(name, _SPANS[days])
        except NotFound as problem:
            raise lookup.explained(client, problem, name or "") from None
    if found.unchecked:
        screen.note(f"Permission was not checked yet for {found.unchecked} repositories. Ask again for their figures.")
    if found.left_out:
        screen.note(f"Not all figures of {', '.join(found.left_out)} are in these. Name a repository, or fewer days.")
    if csv:
        typer.echo(_csv(found), nl=False)
    else:
        screen.show(as_json(found), _shown(found, days, with_repository=name is None), json=json)


def _shown(found: InsightsModel, days: Days, *, with_repository: bool) -> RenderableType:
    from rich.console import Group

    from tidegate_cli import screen

    if not found.stacks:
        return screen.text(f"No deployment ended in the last {days} days.")
    return Group(*_tables(found, with_repository=with_repository))


def _tables(found: InsightsModel, *, with_repository: bool) -> Iterator[RenderableType]:
    from tidegate.insights.texts.figures import dollars, lasting
    from tidegate_cli import screen

    columns = ("APPLIED", "FAILURE RATE", "LEAD TIME", "REVIEW WAIT", "QUEUE", "COST")
    stacks = screen.table("STACK", *columns, right=columns, whole=("STACK", *columns))
    for name, one in (*((each.name, each) for each in found.stacks), ("(all)", found.total)):
        times = (_median(one.lead_time), _median(one.review_wait), _median(one.queue_time))
        stacks.add_row(screen.text(name), str(one.applied), _failures(one), *times, dollars(one.cost_usd))
    yield stacks
    roots = [
        (f"{each.repository} {each.root}" if with_repository else each.root, each.longest, each.mean, each.runs)
        for each in found.slowest_roots
    ]
    providers = [(each.provider, each.longest, each.mean, each.changes) for each in found.slowest_providers]
    for kind, counted, rows in (("ROOT", "RUNS", roots), ("PROVIDER", "CHANGES", providers)):
        table = screen.table(f"SLOWEST {kind}", "LONGEST", "MEAN", counted, right=("LONGEST", "MEAN", counted))
        for name, longest, mean, count in rows[:_SLOWEST]:
            table.add_row(screen.text(name), lasting(longest), lasting(mean), str(count))
        if rows:
            yield ""
            yield table


def _median(time: Duration) -> str:
    from tidegate.insights.texts.figures import lasting

    return "-" if time.median is None else lasting(time.median)


def _failures(one: FiguresModel) -> str:
    from tidegate.insights.texts.figures import percent

    if one.failure_rate is None:
        return "-"
    return f"{percent(one.failure_rate)} ({one.failed} of {one.applied + one.unchanged + one.failed})"


def _csv(found: InsightsModel) -> str:
    """Return a line for each stack; durations in seconds."""
    from csv import writer
    from io import StringIO

    from tidegate.insights.texts.figures import cell

    text = StringIO()
    lines = writer(text)
    times = [f"{name}_{which}" for name in _TIMES for which in ("median", "p90")]
    lines.writerow(["stack", "applied", "unchanged", "failed", "other", *times, "cost_usd"])
    for one in found.stacks:
        taken = [
            time
            for each in (one.lead_time, one.review_wait, one.queue_time, one.run_time)
            for time in (each.median, each.p90)
        ]
        seconds = [None if each is None else round(each) for each in taken]
        lines.writerow([cell(one.name), one.applied, one.unchanged, one.failed, one.other, *seconds, one.cost_usd])
    return text.getvalue()
