"""``tidegate announce``: tell a config repository which images CI has built."""

from __future__ import annotations

import json as documents
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate.rules.numbers import LARGEST_EXACT
from tidegate_cli.answer import as_json
from tidegate_cli.configuration import content_of
from tidegate_cli.options import Json, Repository, Url, whole_number
from tidegate_cli.problems import WrongUsage

_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_Set = Annotated[str, typer.Option("--set", metavar="SET", help="The image set, as tidegate.yaml names it.")]
_Sha = Annotated[
    str,
    typer.Option("--sha", metavar="SHA", help="The commit that the images are of. Default: the CI run's."),
]
_Images = Annotated[
    Path,
    typer.Option("--images", metavar="FILE", help='JSON: {"SERVICE": {"Tag": "NAME:TAG", "Digest": "NAME@sha256:…"}}.'),
]
_Sequence = Annotated[
    int | None,
    typer.Option(
        "--sequence",
        metavar="N",
        parser=whole_number("it orders announcements, such as 42", 0, LARGEST_EXACT),
        help="Orders the announcements of a set. Default: the number of the CI run.",
    ),
]
_RunUrl = Annotated[
    str, typer.Option("--run-url", metavar="URL", help="Where people find the CI run. Default: this run's.")
]
_Audience = Annotated[
    str, typer.Option("--audience", metavar="URL", help="The audience of the token. Default: the installation's URL.")
]


def announce(
    repository: Repository,
    *,
    image_set: _Set,
    images: _Images,
    sha: _Sha = "",
    sequence: _Sequence = None,
    run_url: _RunUrl = "",
    audience: _Audience = "",
    url: Url = None,
    json: Json = False,
) -> None:
    """Announce the images that CI has built of a commit, from a job on GitHub Actions or GitLab CI."""
    from tidegate_cli import ci, lookup, screen
    from tidegate_cli.api_client import ApiClient
    from tidegate_cli.options import wait

    name = lookup.repository(repository)
    app_sha = sha or ci.commit()
    if not app_sha:
        raise WrongUsage("The commit is not known.", "Add --sha SHA, with the whole commit.")
    if not _COMMIT.fullmatch(app_sha):
        raise WrongUsage(
            f"{app_sha!r} is no whole commit.", "Write its 40 or 64 characters, as git rev-parse shows them."
        )
    body: dict[str, object] = {"images": _read(images), "run_url": run_url or ci.run_url()}
    if sequence is not None:
        body["sequence"] = sequence
    with ApiClient(ci.connect_ci(url, audience), wait) as client:
        made = client.announce(name, image_set, app_sha, body)
    screen.say(f"{app_sha[:10]}: {made.message}\n  {made.id}", as_json(made), json=json)


def _read(file: Path) -> dict[str, Any]:
    raw = content_of(file, "tidegate announce REPOSITORY --set SET --images FILE")
    try:
        found = documents.loads(raw)
    except ValueError as error:
        raise WrongUsage(f"{file} is no JSON: {error}.", "Write one object, with an object for each service.") from None
    if not isinstance(found, dict):
        raise WrongUsage(f"{file} is no JSON object.", "Write one object, with an object for each service.")
    for service, image in found.items():
        if not isinstance(image, dict) or not {"Tag", "Digest"} <= image.keys():
            hint = 'Write {"SERVICE": {"Tag": "NAME:TAG", "Digest": "NAME@sha256:…"}}.'
            raise WrongUsage(f"{file}: {service} is no object with Tag and Digest.", hint)
    return found
