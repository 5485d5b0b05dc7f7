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
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show what schedules found that changed outside of Tidegate."""
    from cli import drift_view, finding, screen

    with open_client(url, person) as client:
        name = finding.repository(repository) if repository else None
        try:
            found = client.drift(name)
        except NotFound as problem:
            raise finding.explained(client, problem, name or "") from None
    if json:
        screen.print_json(as_json(found))
    else:
        screen.console().print(drift_view.drift(found), crop=False)
