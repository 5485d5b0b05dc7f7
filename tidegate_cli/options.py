"""Options that many commands share, and how a command gets its client."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidegate_cli.api_client import ApiClient

JSON_ASKED = "tidegate.json"
"""Where the root of the command tree keeps that --json was given, so that problems are JSON as well."""


def _remember_json(ctx: typer.Context, value: bool) -> bool:
    if value:
        ctx.find_root().meta[JSON_ASKED] = True
    return value


def complete_repository(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a repository's name for the shell."""
    from tidegate_cli import completion

    return completion.repositories(ctx, incomplete)


def complete_root(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a root's name for the shell."""
    from tidegate_cli import completion

    return completion.roots(ctx, incomplete)


Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Tidegate's URL. Default: TIDEGATE_URL, or the running local cloud."),
]
Person = Annotated[
    str | None, typer.Option("--as", metavar="USER", help="Act as this user of the local forge (local cloud only).")
]
Json = Annotated[bool, typer.Option("--json", callback=_remember_json, help="Print JSON (docs/cli.md describes it).")]
#: The prefix of an installation where none is named.
PREFIX = "tidegate"
#: As ``make deploy`` takes it.
_PREFIX = re.compile(r"[a-z][a-z0-9-]{0,19}")


def _usable_prefix(value: str) -> str:
    if value and not _PREFIX.fullmatch(value):
        raise typer.BadParameter(f"{value!r} is not up to 20 small letters, digits and hyphens.")
    return value


Prefix = Annotated[
    str,
    typer.Option(
        "--prefix",
        envvar="TIDEGATE_PREFIX",
        callback=_usable_prefix,
        metavar="PREFIX",
        help="The installation's prefix: its secrets' names begin with it.",
    ),
]
Repository = Annotated[
    str, typer.Argument(metavar="REPOSITORY", autocompletion=complete_repository, help="OWNER/NAME.")
]
RootName = Annotated[str, typer.Argument(metavar="ROOT", autocompletion=complete_root, help="The root's name.")]
Query = Annotated[str, typer.Option("--query", metavar="QUERY", help="A tag query, such as stack_name:prod.")]
DeploymentId = Annotated[
    str, typer.Argument(metavar="DEPLOYMENT", help="A deployment's id, its beginning or end, or the URL of its page.")
]
Deployments = Annotated[
    list[str], typer.Argument(metavar="DEPLOYMENT...", help="Ids, their beginnings or ends, or URLs of pages.")
]


def whole_number(what: str, least: int, most: int) -> Callable[[str], int]:
    """Return what reads a whole number of an argument, and says in words what it must be. ``what`` begins that."""

    def parse(text: str) -> int:
        if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most:
            return int(text)
        raise typer.BadParameter(f"{what}, not {text!r}.")

    return parse


def open_client(url: str | None, person: str | None) -> ApiClient:
    """Return a client of the API at the chosen address. Raise WrongUsage, NotSignedIn."""
    from tidegate_cli.api_client import ApiClient
    from tidegate_cli.connection import connect
    from tidegate_cli.screen import note

    connection = connect(url, person)
    note(connection.note)
    return ApiClient(connection, wait)


def wait(why: str, seconds: float) -> None:
    """Wait until the API is asked again, and say why when it takes long."""
    import time

    from tidegate_cli.screen import note

    if seconds >= 1:
        note(f"{why} Trying again in {seconds:.0f} s.")
    time.sleep(seconds)
