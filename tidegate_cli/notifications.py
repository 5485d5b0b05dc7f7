"""``tidegate notifications``: who was notified of what, and what became of each message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidegate.web.notification_models import NotificationList

_STATES = {"delivered": "green", "failed": "red", "sending": "yellow", "collecting": "dim"}


def notifications(
    repository: Annotated[
        str, typer.Argument(metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME.")
    ],
    *,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show the newest notifications of a repository, and what became of them."""
    from tidegate_cli import lookup, screen

    with open_client(url, person) as client:
        name = lookup.repository(repository)
        try:
            found = client.notifications(name)
        except NotFound as problem:
            raise lookup.explained(client, problem, name) from None
    screen.show(as_json(found), _shown(found), json=json)


def _shown(found: NotificationList) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from tidegate_cli import screen

    lines = [screen.text(f"! {each}", "bold magenta") for each in found.problems]
    if not found.notifications:
        return Group(*lines, screen.text("There are no notifications of the last 14 days."))
    for each in found.notifications:
        line = Text(f"{each.state:<11}", style=_STATES.get(each.state, ""))
        line.append_text(screen.text(f"{screen.ago(each.made_at)}  {each.destination}: {each.text}"))
        if each.error:
            line.append_text(screen.text(f" ({each.error}, {each.attempts} attempts)"))
        lines.append(line)
    return Group(*lines)
