"""``tidegate queue``, ``lock`` and ``unlock``: a root's deploy queue and its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Repository, RootName, Url, complete_root, open_client
from tidegate_cli.problems import NotFound, Refused, WrongUsage

if TYPE_CHECKING:
    from tidegate_cli.api_client import ApiClient

MaybeRoot = Annotated[
    str | None, typer.Argument(metavar="[ROOT]", autocompletion=complete_root, help="The root's name.")
]
Stack = Annotated[str, typer.Option("--stack", metavar="STACK", help="All roots of a stack.")]
All = Annotated[bool, typer.Option("--all", help="All roots of the repository.")]


def queue(
    repository: Repository,
    root: RootName,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all waiting deployments, not only the first 20.")
    ] = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Show the queue of a root: its lock, what runs and what waits."""
    from tidegate_cli import lookup, queue_presenter, screen

    with open_client(url, person) as client:
        try:
            found = client.queue(lookup.repository(repository), root)
        except NotFound as problem:
            raise lookup.explained(client, problem, repository, [root]) from None
        if not (found.deployed_revision or found.running or found.waiting or found.lock):
            lookup.check_root(client, repository, root)
    screen.show(as_json(found), queue_presenter.queue(found, everything=everything), json=json)


def lock(
    repository: Repository,
    root: MaybeRoot = None,
    *,
    stack: Stack = "",
    everything: All = False,
    duration: Annotated[
        str, typer.Option("--for", metavar="TIME", help="Such as 90m, 2h, 3d. Default: until you unlock it.")
    ] = "",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, shown with the lock.")] = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Lock the queue of a root, or all queues of a stack or repository. Merges wait; manual deployments do not."""
    from tidegate_cli import lookup

    _check_one(root, stack, everything=everything)
    with open_client(url, person) as client:
        try:
            name = lookup.repository(repository)
            if root is None:
                done = client.lock_many(name, stack, reason, duration)
            else:
                done = client.lock(name, root, reason, duration)
        except NotFound as problem:
            raise lookup.explained(client, problem, repository, [root] if root else []) from None
        except Refused:
            if root is not None:
                lookup.check_root(client, repository, root)
            raise
    _tell(repository, root, stack, as_json(done), done.message, json=json)


def unlock(
    repository: Repository,
    root: MaybeRoot = None,
    *,
    stack: Stack = "",
    everything: All = False,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Unlock the queue of a root, or all queues of a stack or repository. Waiting merges continue."""
    from tidegate_cli import lookup

    _check_one(root, stack, everything=everything)
    with open_client(url, person) as client:
        try:
            name = lookup.repository(repository)
            done = client.unlock_many(name, stack) if root is None else client.unlock(name, root)
        except NotFound as problem:
            raise lookup.explained(client, problem, repository, [root] if root else []) from None
        if root is not None and not done.unlocked:
            lookup.check_root(client, repository, root)
            if done.message:
                _check_scope(client, repository, root, done.message)
    usual = "Unlocked: waiting deployments continue." if done.unlocked else "It was not locked."
    _tell(repository, root, stack, as_json(done), done.message or usual, json=json)


def _check_scope(client: ApiClient, repository: str, root: str, message: str) -> None:
    """Raise Refused with the command that takes the lock away which holds a root back, if it is of more than that."""
    from tidegate_cli import presenter

    lock = client.queue(repository, root).lock
    if lock is not None and lock.scope:
        raise Refused(message, presenter.unlocking(repository, root, lock))


def _check_one(root: str | None, stack: str, *, everything: bool) -> None:
    if sum(map(bool, (root, stack, everything))) != 1:
        raise WrongUsage(
            "Name exactly one of: a root, a stack, all roots.", "Name a root, or add --stack STACK or --all."
        )


def _tell(repository: str, root: str | None, stack: str, data: dict[str, Any], message: str, *, json: bool) -> None:
    from tidegate_cli import screen

    if json:
        what = {"root": root} if root else {"stack": stack or None}
        screen.print_json({"repository": repository, **what, **data})
    else:
        name = f"{repository} · {root}" if root else repository
        screen.console().print(screen.text(f"{name}: {message}"))
