"""``tidegate pulls``: open pull requests, and what a merge of one would do."""

from __future__ import annotations

from typing import Annotated

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Query, Url, complete_repository, open_client, whole_number
from tidegate_cli.problems import NotFound, WrongUsage

_Repository = Annotated[
    str | None,
    typer.Argument(
        metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME. Without it: all repositories."
    ),
]
_Number = Annotated[
    int | None,
    typer.Argument(
        metavar="NUMBER",
        parser=whole_number("it is the number of a pull request, such as 12", 1, 10**15 - 1),
        help="Show this one.",
    ),
]


def pulls(
    repository: _Repository = None,
    number: _Number = None,
    *,
    query: Query = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show open pull or merge requests, or the plans of one."""
    from tidegate_cli import lookup, pulls_presenter, screen

    if query and number is not None:
        raise WrongUsage("--query searches the list, but you named one.", "Omit one of them.")
    with open_client(url, person) as client:
        name = lookup.repository(repository) if repository else None
        try:
            if name is None or number is None:
                listed = client.pulls(name, query)
                data, view = as_json(listed), pulls_presenter.pulls(listed, with_repository=name is None, query=query)
            else:
                found = client.pull(name, number)
                data, view = as_json(found), pulls_presenter.pull(found)
        except NotFound as problem:
            missing = problem if number is None else _missing(name, number)
            raise lookup.explained(client, missing, name or "") from None
    screen.show(data, view, json=json)


def _missing(repository: str | None, number: int) -> NotFound:
    return NotFound(
        f"{repository} has no pull or merge request {number} here, or you may not see it.",
        f"tidegate pulls {repository} lists the open ones.",
    )
