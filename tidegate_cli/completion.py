"""Shell completion of names from the API. On errors, nothing is completed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer

from tidegate_cli.api_client import ApiClient
from tidegate_cli.connection import connect
from tidegate_cli.problems import Problem


class _Busy(Problem):
    """The server is busy: nobody waits that long for a Tab."""


def repositories(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of repositories that begin so."""
    with _quietly(), _client(ctx) as client:
        return [known.name for known in client.repositories() if known.name.startswith(incomplete)]
    return []


def roots(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of roots of the repository before it that begin so."""
    repository = ctx.params.get("repository")
    with _quietly(), _client(ctx) as client:
        return [root.name for root in client.roots(str(repository)) if root.name.startswith(incomplete)]
    return []


def _client(ctx: typer.Context) -> ApiClient:
    return ApiClient(connect(ctx.params.get("url"), ctx.params.get("person")), _give_up)


def _give_up(why: str, _seconds: float) -> None:
    raise _Busy(why)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    with contextlib.suppress(Problem, OSError, ValueError):
        yield
