"""``tidegate queue``, ``lock`` and ``unlock``: a root's deploy queue and its lock."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.options import Json, Person, Repository, RootName, Url, as_json, open_client
from cli.problems import NotFound, Refused


def queue(
    repository: Repository,
    root: RootName,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Show all that wait, not the first 20 only.")] = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show what runs in a root's queue, what waits, and whether it is locked."""
    from cli import finding, queue_view, screen

    with open_client(url, person) as client:
        try:
            found = client.queue(finding.repository(repository), root)
        except NotFound as problem:
            raise finding.explained(client, problem, repository, [root]) from None
        if not (found.deployed_revision or found.running or found.waiting or found.lock):
            finding.check_root(client, repository, root)
    if json:
        screen.print_json(as_json(found))
    else:
        screen.console().print(queue_view.queue(found, everything=everything), crop=False)


def lock(
    repository: Repository,
    root: RootName,
    *,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", show_default=False, help="Why: shown wherever the lock is.")
    ] = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Lock a root's queue: merges wait until somebody unlocks it. Deploys by hand go on."""
    from cli import finding, screen

    with open_client(url, person) as client:
        try:
            done = client.lock(finding.repository(repository), root, reason)
        except NotFound as problem:
            raise finding.explained(client, problem, repository, [root]) from None
        except Refused:
            finding.check_root(client, repository, root)
            raise
    if json:
        screen.print_json({"repository": repository, "root": root, **as_json(done)})
    else:
        screen.console().print(screen.text(f"{repository} · {root}: {done.message}"))


def unlock(
    repository: Repository, root: RootName, *, url: Url = None, person: Person = None, json: Json = False
) -> None:
    """Take away the lock of a root's queue, so that merges go on."""
    from cli import finding, screen

    with open_client(url, person) as client:
        try:
            done = client.unlock(finding.repository(repository), root)
        except NotFound as problem:
            raise finding.explained(client, problem, repository, [root]) from None
        if not done.unlocked:
            finding.check_root(client, repository, root)
    if json:
        screen.print_json({"repository": repository, "root": root, **as_json(done)})
    else:
        usual = "It is unlocked: what waits goes on." if done.unlocked else "It was not locked."
        screen.console().print(screen.text(f"{repository} · {root}: {done.message or usual}"))
