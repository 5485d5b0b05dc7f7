"""``tidegate drift``: what changed outside of Tidegate."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import Json, Person, Url, as_json, complete_repository, open_client
from cli.problems import NotFound


def drift(
    repository: Annotated[
        str | None,
        typer.Argument(
            metavar="REPOSITORY",
            show_default=False,
            autocompletion=complete_repository,
            help="OWNER/NAME. Without it: all repositories.",
        ),
    ] = None,
    *,
    look: Annotated[
        str | None,
        typer.Option(
            "--look",
            metavar="SCHEDULE",
            show_default=False,
            help="Have this schedule of the repository look for drift now. Who may write to the repository may ask.",
        ),
    ] = None,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show what schedules found that changed outside of Tidegate."""
    from cli import drift_view, finding, screen

    if look and not repository:
        message = f"Name the repository of the schedule: tidegate drift OWNER/NAME --look {look}"
        raise typer.BadParameter(message, param_hint="--look")
    with open_client(url, person) as client:
        name = finding.repository(repository) if repository else None
        try:
            started = client.look_for_drift(name, look) if name and look else ""
            found = client.drift(name)
        except NotFound as problem:
            raise finding.explained(client, problem, name or "") from None
    if started and not json:
        screen.console().print(screen.text(started))
    if json:
        screen.print_json(as_json(found))
    else:
        screen.console().print(drift_view.drift(found), crop=False)
