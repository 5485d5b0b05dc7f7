"""``tidegate status``: repositories, roots and deployments, and what needs a person."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Query, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound, WrongUsage

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tidegate_cli.api_client import ApiClient

_WATCH_SECONDS = 2.0
#: Requests at once when the roots of all repositories are counted.
_AT_ONCE = 8

Shown = tuple[Any, "Callable[[], RenderableType]"]


def status(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="REPOSITORY|DEPLOYMENT",
            autocompletion=complete_repository,
            help="OWNER/NAME, or a deployment's id. Without it: all repositories.",
        ),
    ] = None,
    *,
    query: Query = "",
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Update it until Ctrl-C.")] = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show repositories, the roots of one, or one deployment."""
    from tidegate_cli import screen

    if watch and json:
        raise WrongUsage("--watch and --json exclude each other: --json prints one document.", "Omit one of them.")
    with open_client(url, person) as client:
        if watch:
            _watch(client, what, query)
        data, view = _look(client, what, query)
        if json:
            screen.print_json(data)
        else:
            screen.console().print(view(), crop=False)


def _look(client: ApiClient, what: str | None, query: str) -> Shown:
    is_repository = what is not None and "/" in what and "://" not in what
    if query and not is_repository:
        raise WrongUsage(
            "--query searches the roots of a repository.", "Name a repository: tidegate status OWNER/NAME."
        )
    if what is None:
        return _all(client)
    return _repository(client, what, query) if is_repository else _deployment(client, what)


def _all(client: ApiClient) -> Shown:
    from tidegate_cli import presenter, screen

    known = client.repositories()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        counted = list(zip(known, pool.map(client.roots, [repository.name for repository in known]), strict=True))

    def view() -> RenderableType:
        if not known:
            return screen.text("There are no repositories yet: they appear with the first push to the default branch.")
        return presenter.repositories(counted)

    data = [as_json(repository) | {"roots": [as_json(root) for root in roots]} for repository, roots in counted]
    return {"repositories": data}, view


def _repository(client: ApiClient, name: str, query: str) -> Shown:
    from tidegate_cli import lookup, presenter

    try:
        found = client.search_roots(lookup.repository(name), query)
    except NotFound as problem:
        raise lookup.explained(client, problem, name) from None
    return as_json(found), lambda: presenter.roots(name, found.roots, query, found.hint)


def _deployment(client: ApiClient, text: str) -> Shown:
    from tidegate_cli import lookup, presenter

    found = lookup.find_deployment(client, text)
    return as_json(found), lambda: presenter.deployment(found)


def _watch(client: ApiClient, what: str | None, query: str) -> NoReturn:
    """Show it until Ctrl-C: in place on a terminal, one after the other elsewhere."""
    from tidegate_cli import screen

    console = screen.console()
    while True:
        _, view = _look(client, what, query)
        console.clear()
        # Nothing is cut: of what is longer than the terminal, the end stays in view, where the next steps are.
        console.print(view(), crop=False)
        time.sleep(_WATCH_SECONDS)
