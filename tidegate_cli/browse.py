"""``tidegate open``: the page of a deployment, a change, a repository, a root or a pull request, in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegate_cli.options import Json, Person, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound

if TYPE_CHECKING:
    from tidegate_cli.api_client import ApiClient


def open_page(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="DEPLOYMENT|CHANGE|REPOSITORY",
            autocompletion=complete_repository,
            help="An id, or OWNER/NAME. Without it: the first page.",
        ),
    ] = None,
    of_it: Annotated[
        str | None, typer.Argument(metavar="NUMBER|ROOT", help="A pull request or a root of the repository.")
    ] = None,
    *,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Open a page in the browser, and print its URL. Without a browser, or in a pipe, only print it."""
    from tidegate_cli import screen

    with open_client(url, person) as client:
        address = _address(client, what, of_it)
    if json:
        screen.print_json({"url": address})
        return
    typer.echo(screen.text(address).plain)
    if screen.console().is_terminal and not _opened(address):
        screen.note("There is no browser here: open this address in yours.")


def _opened(address: str) -> bool:
    import webbrowser

    try:
        return webbrowser.open(address)
    except webbrowser.Error:
        return False


def _address(client: ApiClient, what: str | None, of_it: str | None) -> str:
    """Return the address of a page. Raise NotFound."""
    from tidegate_cli import lookup

    if what is None:
        return f"{client.url}/"
    if "://" in what or "/" not in what:
        return _of_id(client, what)
    name = lookup.repository(what)
    try:
        if of_it is None:
            return next(one.url for one in client.repositories() if one.name == name)
        number = of_it.lstrip("#!")
        if number.isascii() and number.isdigit():
            return client.pull(name, int(number)).url
        return next(one.url for one in client.roots(name) if one.name == of_it)
    except (NotFound, StopIteration):
        missing = NotFound(f"{name} has no {of_it} here, or you may not see it.", f"tidegate status {name}")
        roots = [of_it] if of_it and not of_it.lstrip("#!").isdigit() else []
        raise lookup.explained(client, missing, name, roots) from None


def _of_id(client: ApiClient, what: str) -> str:
    """Return the address of a deployment's or a change's page. Of neither, say so of a deployment."""
    from tidegate_cli import lookup

    try:
        return client.change(lookup.change_in(what) or lookup.id_in(what)).url
    except NotFound:
        return lookup.find_deployment(client, what).url
