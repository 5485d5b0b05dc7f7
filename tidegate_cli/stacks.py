"""``tidegate stacks``: the stacks of a change with their states, or the configured ones, as a graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Url, complete_repository, open_client
from tidegate_cli.problems import NotFound, WrongUsage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from tidegate.web.change_models import ChangeModel
    from tidegate.web.models import DeploymentBrief
    from tidegate_cli.api_client import ApiClient

#: Deployments among which the newest change of a repository is looked for.
_NEWEST = 100
#: Of those that came after it, so many are named.
_LATER = 3


_Change = Annotated[
    str | None, typer.Argument(metavar="CHANGE", help="A change's id, a deployment of it, or the URL of either's page.")
]
_Repository = Annotated[
    str | None,
    typer.Option(
        "--repository",
        metavar="REPOSITORY",
        autocompletion=complete_repository,
        help="The newest change of this repository.",
    ),
]
_Stop = Annotated[
    str | None,
    typer.Option("--stop", metavar="STACK", help="Stop this stack: reject what has not begun its apply."),
]
_Continue = Annotated[
    str | None,
    typer.Option("--continue", metavar="STACK", help="Let this stack continue after failures (operators only)."),
]
_Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why the stack continues. It is recorded in the audit log.")
]
_File = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="The stacks of this file. Default: the nearest tidegate.yaml upwards."),
]


def stacks(
    change: _Change = None,
    *,
    repository: _Repository = None,
    file: _File = None,
    stop: _Stop = None,
    go_on: _Continue = None,
    reason: _Reason = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Draw the stacks of a change with their states. Without a change: the stacks that tidegate.yaml configures.

    Also stops one of a change, or lets it continue after too many failures.
    """
    from tidegate_cli import screen

    if sum(given is not None for given in (change, repository, file)) > 1:
        raise WrongUsage("You gave more than one of: a change, --repository, --file.", "Give one, or none.")
    if stop is not None and go_on is not None:
        raise WrongUsage("You gave both --stop and --continue.", "Give one of them.")
    if (stop or go_on) and change is None:
        raise WrongUsage("--stop and --continue need a change.", "tidegate stacks CHANGE --stop STACK")
    if change is None and repository is None:
        document, view = _configured(file)
    else:
        with open_client(url, person) as client:
            found = named_change(client, change) if change is not None else _newest(client, repository or "")
            if stop is not None:
                found = client.stop_stack(found.id, stop)
            if go_on is not None:
                found = client.continue_stack(found.id, go_on, reason)
        document, view = _shown(found)
    screen.show(document, view, json=json)


def _shown(found: ChangeModel) -> tuple[Any, RenderableType]:
    from tidegate_cli import stacks_presenter

    return as_json(found), stacks_presenter.change(found)


def _configured(file: Path | None) -> tuple[Any, RenderableType]:
    from tidegate.changes.rules.stack import resolve_stacks
    from tidegate_cli import stacks_presenter
    from tidegate_cli.checkout import checkout_around, own_file
    from tidegate_cli.configuration import loaded_from

    named = file or own_file()
    checkout = checkout_around(named.parent)
    loaded = loaded_from(named, checkout.repository if checkout else "owner/repository", "tidegate stacks --file FILE")
    leaves = resolve_stacks([each.definition for each in loaded.stacks])
    return stacks_presenter.configured_document(named, loaded, leaves), stacks_presenter.configured(loaded, leaves)


def named_change(client: ApiClient, text: str) -> ChangeModel:
    """Return the change with this id, or that of the deployment that is named. Raise NotFound, WrongUsage."""
    from tidegate_cli import lookup

    wanted = lookup.change_in(text)
    if wanted is None and "://" not in text:
        try:
            return client.change(text)
        except NotFound:
            wanted = None
    if wanted is not None:
        return client.change(wanted)
    try:
        deployment = lookup.find_deployment(client, text)
    except NotFound:
        raise NotFound(
            f"There is no change or deployment {text}, or you may not see it.",
            "tidegate stacks --repository OWNER/NAME draws the newest change.",
        ) from None
    if deployment.change_set is None:
        raise NotFound(f"{deployment.id} belongs to no change.", f"tidegate status {deployment.id}")
    return client.change(deployment.change_set)


def _newest(client: ApiClient, name: str) -> ChangeModel:
    """Return the newest change of a repository. Raise NotFound, WrongUsage."""
    from tidegate_cli import lookup

    try:
        listed = client.deployments(lookup.repository(name), limit=_NEWEST)
    except NotFound as problem:
        raise lookup.explained(client, problem, name) from None
    place = next((place for place, one in enumerate(listed) if one.change_set), None)
    if place is None:
        reason = f"None of the newest deployments of {name} belongs to a change of several roots."
        raise NotFound(reason, f"tidegate status {name}")
    _tell_later(listed[:place])
    return client.change(listed[place].change_set or "")


def _tell_later(later: Sequence[DeploymentBrief]) -> None:
    """Say which roots were deployed on their own since the newest change of several."""
    from tidegate_cli import screen

    if later:
        names = ", ".join(dict.fromkeys(f"{one.root} at {one.revision[:7]}" for one in later[:_LATER]))
        more = f" and {len(later) - _LATER} more" if len(later) > _LATER else ""
        screen.note(f"This is the newest change of several roots. Deployed since then, each on its own: {names}{more}.")
