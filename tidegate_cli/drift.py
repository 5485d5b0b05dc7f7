"""``tidegate drift``: what changed outside of Tidegate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound, WrongUsage
from tidegate_cli.waiting import until_looked

if TYPE_CHECKING:
    from tidegate.web.drift_models import DriftList
    from tidegate_cli.api_client import ApiClient


_Repository = Annotated[
    str | None,
    typer.Argument(
        metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME. Without it: all repositories."
    ),
]
_Look = Annotated[
    str | None,
    typer.Option(
        "--detect",
        metavar="SCHEDULE",
        help="Start drift detection of this schedule now. You need write access to the repository.",
    ),
]
_Wait = Annotated[bool, typer.Option("--wait", help="With --detect: wait until the run ends, and show its result.")]


def drift(
    repository: _Repository = None,
    *,
    look: _Look = None,
    wait: _Wait = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show drift: what changed outside of Tidegate, as schedules found it."""
    from tidegate_cli import drift_presenter, lookup, screen

    if look and not repository:
        message = f"Name its repository: tidegate drift OWNER/NAME --detect {look}"
        raise typer.BadParameter(message, param_hint="--detect")
    if wait and not look:
        raise WrongUsage("--wait waits for a run that --detect starts.", "Add --detect SCHEDULE, or omit --wait.")
    with open_client(url, person) as client:
        name = lookup.repository(repository) if repository else None
        try:
            found = _looked(client, name, look, wait=wait, json=json) if name and look else client.drift(name)
        except NotFound as problem:
            raise lookup.explained(client, problem, name or "") from None
    screen.show(as_json(found), drift_presenter.drift(found), json=json)


def _looked(client: ApiClient, repository: str, schedule: str, *, wait: bool, json: bool) -> DriftList:
    """Have a schedule look, and return what is known then; if waited for, what that run found. Raise NotYet."""
    from tidegate_cli import presenter, screen

    console = screen.console(stderr=json)
    before = client.drift(repository) if wait else None
    console.print(screen.text(client.detect_drift(repository, schedule)))
    if before is not None:
        with console.status("Waiting until the run ends. Ctrl-C only stops the waiting …"):
            return until_looked(client, repository, schedule, before)
    if not json:
        console.print(
            presenter.command(f"tidegate drift {repository}"), "  shows the result when the run ends.", sep=""
        )
        console.print("The result of the previous run:\n")
    return client.drift(repository)
