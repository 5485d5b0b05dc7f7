"""``tidegate organization``: the file that holds for all repositories of an installation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegate_cli import aws, screen
from tidegate_cli.configuration import content_of
from tidegate_cli.exits import Exit
from tidegate_cli.options import Json
from tidegate_cli.problems import NotFound
from tidegate_cli.tree import Command, Group

if TYPE_CHECKING:
    from tidegate.config.organization import Organization

app = typer.Typer(cls=Group, no_args_is_help=True, help="Manage the organization-wide configuration file.")

_Bucket = Annotated[
    str,
    typer.Option(
        "--bucket",
        envvar="TIDEGATE_ARTIFACT_BUCKET",
        metavar="NAME",
        help="The artifact bucket (stack output ArtifactBucket).",
    ),
]


@app.command(cls=Command, name="set")
def set_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file, in YAML.")],
    *,
    bucket: _Bucket,
    json: Json = False,
) -> None:
    """Check and store the file. It applies to every push, comment and request from then on."""
    from tidegate.config.organization import ORGANIZATION

    raw = content_of(file, "tidegate organization set FILE")
    checked(file, raw)
    client = _client()
    with aws.refusals():
        client.put_object(Bucket=bucket, Key=ORGANIZATION, Body=raw, ContentType="application/yaml")
    screen.say(f"Stored as {ORGANIZATION}. It applies from now on.", {"bucket": bucket, "key": ORGANIZATION}, json=json)


@app.command(cls=Command, name="show")
def show(*, bucket: _Bucket) -> None:
    """Print the stored file."""
    from tidegate.config.organization import ORGANIZATION

    client = _client()
    with aws.refusals():
        try:
            answer = client.get_object(Bucket=bucket, Key=ORGANIZATION)
        except client.exceptions.NoSuchKey:
            raise NotFound("There is no organization-wide file.", "tidegate organization set FILE") from None
        typer.echo(answer["Body"].read().decode(errors="replace"), nl=False)


@app.command(cls=Command, name="remove")
def remove(*, bucket: _Bucket, json: Json = False) -> None:
    """Remove the file. From then on, each repository's file decides alone."""
    from tidegate.config.organization import ORGANIZATION

    client = _client()
    with aws.refusals():
        client.delete_object(Bucket=bucket, Key=ORGANIZATION)
    screen.say(
        "The file was removed. Only each repository's own file applies now.",
        {"bucket": bucket, "key": ORGANIZATION},
        json=json,
    )


def checked(file: Path, raw: bytes) -> Organization:
    """Return what an organization's file says. Tell all that is wrong with it, and end."""
    from tidegate.config.organization import Organization, examine_organization

    found = examine_organization(raw, file=str(file))
    if isinstance(found, Organization):
        return found
    for mistake in found:
        typer.echo(screen.text(f"✘ {mistake}").plain)
    raise typer.Exit(int(Exit.FAILED))


def _client() -> Any:
    with aws.refusals():
        return aws.client("s3")
