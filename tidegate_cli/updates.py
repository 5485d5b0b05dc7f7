"""``tidegate updates``: the queue of a config repository, its image sets, and what operators do with them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli.answer import as_json
from tidegate_cli.options import Json, Person, Repository, Url, open_client
from tidegate_cli.problems import NotFound, WrongUsage
from tidegate_cli.tree import Command, Group

if TYPE_CHECKING:
    from tidegate.web.update_models import ImageSetsModel
    from tidegate_cli.api_client import ApiClient

app = typer.Typer(cls=Group, no_args_is_help=True, help="Show and control the image sets of a config repository.")

#: A commit, or the beginning of one that tells it.
_COMMIT = re.compile("[0-9a-f]{7,64}")
_Entry = Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id.")]
_Set = Annotated[str, typer.Argument(metavar="SET", help="The image set.")]
_MaybeSet = Annotated[str, typer.Option("--set", metavar="SET", help="The image set, if several have the environment.")]
_Environment = Annotated[str, typer.Argument(metavar="ENVIRONMENT", help="The environment.")]
_Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, which Tidegate shows.")]


@app.command(cls=Command, name="queue")
def show_queue(repository: Repository, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Show the queue: what is on the auto branch, what waits, and what ended last."""
    from tidegate_cli import lookup, screen, updates_presenter

    with open_client(url, person) as client:
        found = client.updates_queue(lookup.repository(repository))
    screen.show(as_json(found), updates_presenter.queue(found), json=json)


@app.command(cls=Command, name="show")
def show_entry(
    repository: Repository, entry: _Entry, *, url: Url = None, person: Person = None, json: Json = False
) -> None:
    """Show an entry, also after it has left the queue."""
    from tidegate_cli import lookup, screen, updates_presenter

    with open_client(url, person) as client:
        try:
            found = client.update_entry(lookup.repository(repository), entry)
        except NotFound:
            raise _no_entry(repository, entry) from None
    screen.show(as_json(found), updates_presenter.entry(found), json=json)


@app.command(cls=Command, name="sets")
def show_sets(repository: Repository, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Show the image sets: which commit is in which environment, since when, and what is on its way."""
    from tidegate_cli import lookup, screen, updates_presenter

    with open_client(url, person) as client:
        found = client.image_sets(lookup.repository(repository))
    screen.show(as_json(found), updates_presenter.sets(found), json=json)


@app.command(cls=Command, name="pause")
def pause(
    repository: Repository, *, reason: _Reason = "", url: Url = None, person: Person = None, json: Json = False
) -> None:
    """Let nothing move until somebody resumes the queue. Announcements are stored."""
    _do(repository, "queue/pause", {"reason": reason}, url, person, json=json)


@app.command(cls=Command, name="resume")
def resume(repository: Repository, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Let a paused queue continue, in its order."""
    _do(repository, "queue/resume", {}, url, person, json=json)


@app.command(cls=Command, name="evict")
def evict(repository: Repository, entry: _Entry, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Let an entry leave the queue. What is above it on the auto branch is tested again."""
    _of_entry(repository, entry, "evict", url, person, json=json)


@app.command(cls=Command, name="retry")
def retry(repository: Repository, entry: _Entry, *, url: Url = None, person: Person = None, json: Json = False) -> None:
    """Put an evicted or failed entry into the queue again, at its end."""
    _of_entry(repository, entry, "retry", url, person, json=json)


@app.command(cls=Command, name="hold")
def hold(
    repository: Repository,
    image_set: _Set,
    *,
    reason: _Reason = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Keep new images and promotions of a set waiting. Its rollbacks still move."""
    _do(repository, f"sets/{_part(image_set)}/hold", {"reason": reason}, url, person, json=json)


@app.command(cls=Command, name="release")
def release(
    repository: Repository, image_set: _Set, *, url: Url = None, person: Person = None, json: Json = False
) -> None:
    """End the hold of a set."""
    _do(repository, f"sets/{_part(image_set)}/release", {}, url, person, json=json)


@app.command(cls=Command, name="promote")
def promote(
    repository: Repository,
    environment: _Environment,
    *,
    image_set: _MaybeSet = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Promote to an environment what all targets of the one before it run."""
    _of_environment(repository, environment, image_set, "promote", {}, url=url, person=person, json=json)


@app.command(cls=Command, name="rollback")
def rollback(
    repository: Repository,
    environment: _Environment,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="COMMIT",
            help="The commit of the config repository with which the image set landed. Default: the one before.",
        ),
    ] = "",
    override: Annotated[
        str,
        typer.Option("--override", metavar="REASON", help="For operators: pass freeze windows and missing approvals."),
    ] = "",
    image_set: _MaybeSet = "",
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Go back to an earlier image set. It is tested like any other, and the set is held."""
    if to and not _COMMIT.fullmatch(to):
        raise WrongUsage(f"{to!r} is no commit.", f"tidegate updates sets {repository} --json lists them as `earlier`.")
    body = {key: value for key, value in (("to", to), ("override", override)) if value}
    _of_environment(repository, environment, image_set, "rollback", body, url=url, person=person, json=json)


@app.command(cls=Command, name="token")
def token(
    repository: Repository,
    image_set: _Set,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The target.")],
    *,
    url: Url = None,
    person: Person = None,
    json: Json = False,
) -> None:
    """Make a new token with which a target reports, and print it once. An earlier one is no longer valid."""
    from tidegate_cli import lookup, screen

    with open_client(url, person) as client:
        made = client.target_token(lookup.repository(repository), image_set, target)
    screen.note(made.message)
    screen.say(made.token, as_json(made), json=json)


def _of_entry(repository: str, entry: str, what: str, url: str | None, person: str | None, *, json: bool) -> None:
    try:
        _do(repository, f"entries/{_part(entry)}/{what}", {}, url, person, json=json)
    except NotFound:
        raise _no_entry(repository, entry) from None


def _of_environment(
    repository: str,
    environment: str,
    image_set: str,
    what: str,
    body: dict[str, Any],
    *,
    url: str | None,
    person: str | None,
    json: bool,
) -> None:
    from tidegate_cli import lookup

    with open_client(url, person) as client:
        name = lookup.repository(repository)
        chosen = image_set or _only_set(client.image_sets(name), environment)
        _tell(client, name, f"sets/{_part(chosen)}/environments/{_part(environment)}/{what}", body, json=json)


def _only_set(found: ImageSetsModel, environment: str) -> str:
    """Return the only image set that has an environment. Raise NotFound, WrongUsage."""
    names = [each.name for each in found.sets if environment in [one.name for one in each.environments]]
    if not names:
        known = sorted({one.name for each in found.sets for one in each.environments})
        message = f"{found.repository} has no environment {environment}."
        raise NotFound(message, f"Declared environments: {', '.join(known)}.")
    if len(names) > 1:
        message = f"Several image sets have the environment {environment}: {', '.join(names)}."
        raise WrongUsage(message, f"Name one of them: --set {names[0]}")
    return names[0]


def _do(repository: str, path: str, body: dict[str, Any], url: str | None, person: str | None, *, json: bool) -> None:
    from tidegate_cli import lookup

    with open_client(url, person) as client:
        _tell(client, lookup.repository(repository), path, body, json=json)


def _tell(client: ApiClient, repository: str, path: str, body: dict[str, Any], *, json: bool) -> None:
    from tidegate_cli import screen

    done = client.control_updates(repository, path, body)
    screen.say(done.message, as_json(done), json=json)


def _part(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _no_entry(repository: str, entry: str) -> NotFound:
    return NotFound(
        f"{repository} has no entry {entry} here, or you may not see it.",
        f"tidegate updates queue {repository} lists the entries.",
    )
