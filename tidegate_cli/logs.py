"""``tidegate logs``: the log of a job, as far as it is written or until it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.exits import Exit
from tidegate_cli.options import Json, Person, Url, open_client
from tidegate_cli.problems import Refused

if TYPE_CHECKING:
    from tidegate.web.models import DeploymentDetails
    from tidegate_cli.api_client import ApiClient

#: How long after a log's end its result is waited for: the state machine records it within seconds.
RESULT_SECONDS = 120.0
#: A line that is written is seen within a second, its way through the API included.
POLL_SECONDS = 0.4

Show = Callable[[int, str], None]


class Kind(StrEnum):
    """The kinds of jobs."""

    PLAN = "plan"
    APPLY = "apply"


def logs(
    what: Annotated[
        str, typer.Argument(metavar="JOB|DEPLOYMENT", help="The id of a job, or of a deployment (its newest job).")
    ],
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print new lines until the job ends.")] = False,
    kind: Annotated[
        Kind | None, typer.Option("--job", metavar="plan|apply", help="Which job of the deployment.")
    ] = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Print the log of a job. With --follow, exit 0 or 1 as the deployment's job ends."""
    from tidegate_cli import lookup

    with open_client(url, person) as client:
        wanted = lookup.id_in(what)
        job = wanted if lookup.is_job(wanted) else _job_of(client, wanted, kind, follow=follow)
        show = _objects(job) if json else _lines_of_text()
        for number, line in enumerate(_lines(client, job, follow=follow)):
            show(number, line)
        if follow and not lookup.is_of_pull_request(job):
            _conclude(client, job, json=json)


def _job_of(client: ApiClient, wanted: str, kind: Kind | None, *, follow: bool) -> str:
    """Return the newest job (of a kind) of a deployment; with ``follow``, wait until it has one. Raise Refused."""
    from tidegate_cli import lookup, screen

    found = lookup.find_deployment(client, wanted)
    told = False
    while not (jobs := [job.id for job in found.jobs if kind is None or job.kind == kind.value]):
        what = f"no {kind} job" if kind else "no job"
        if not follow or screen.is_final(found.state):
            raise Refused(f"{found.id} has {what}: it is {screen.state_word(found.state)}.", found.reason)
        if not told:
            screen.note(f"{found.id} is {screen.state_word(found.state)} and has {what} yet. Waiting …")
            told = True
        time.sleep(POLL_SECONDS)
        found = client.deployment(found.id)
    return jobs[-1]


def _lines(client: ApiClient, job: str, *, follow: bool) -> Iterator[str]:
    """Yield the lines that are there, and with ``follow`` those that come, until there will be no more."""
    from tidegate_cli.screen import note

    position, told = 0, False
    while True:
        page = client.log(job, position)
        yield from page.lines
        position = page.next
        if page.ended or not (page.lines or follow):
            if page.ended and page.state == "lost":
                note("The end of this log is missing: the runner stopped before it stored it.")
            return
        if page.state == "waiting" and not told:
            note(f"{job} has not started. Waiting …")
            told = True
        if not page.lines:
            time.sleep(POLL_SECONDS)


def _lines_of_text() -> Show:
    """Return what prints a line: with its colours on a terminal that wants some, else as text."""
    from tidegate_cli import harmless, screen

    console = screen.console()
    clean = harmless.coloured if console.is_terminal and not console.no_color else harmless.plain
    return lambda _number, line: typer.echo(clean(line), color=True)


def _objects(job: str) -> Show:
    from tidegate_cli.harmless import dumps

    return lambda number, line: typer.echo(dumps({"job": job, "number": number, "line": line}, indent=None))


def _conclude(client: ApiClient, job: str, *, json: bool) -> None:
    """Say how the job ended, and end so."""
    from tidegate_cli import lookup, screen
    from tidegate_cli.harmless import dumps

    found = _past(client, lookup.deployment_of(job), job)
    good = succeeded(found, job)
    if json:
        typer.echo(dumps({"job": job, "ended": True, "succeeded": good, "state": found.state}, indent=None))
    else:
        screen.note(f"The {_kind(job)} {'succeeded' if good else 'failed'}: {screen.state_word(found.state)}.")
    if not good:
        raise typer.Exit(int(Exit.FAILED))


def _past(client: ApiClient, deployment: str, job: str) -> DeploymentDetails:
    """Return the deployment once it is past the job, whose log ends a moment before its result is recorded."""
    from tidegate_cli.problems import NotYet

    during = {"queued", "planning"} if _kind(job) == Kind.PLAN else {"approved", "applying"}
    end = time.monotonic() + RESULT_SECONDS
    while (found := client.deployment(deployment)).state in during and found.jobs[-1:] and found.jobs[-1].id == job:
        if time.monotonic() > end:
            raise NotYet(f"{job} ended, but its result is not recorded yet.", f"Check it: tidegate status {deployment}")
        time.sleep(POLL_SECONDS)
    return found


def succeeded(found: DeploymentDetails, job: str) -> bool:
    """Tell whether a job of this deployment did its work. A plan that was tried again had failed."""
    if _kind(job) == Kind.APPLY:
        return found.state == "applied"
    plans = [item.id for item in found.jobs if item.kind == "plan"]
    return found.changes is not None and plans[-1:] == [job]


def _kind(job: str) -> str:
    return job.rsplit("-", 2)[-2]
