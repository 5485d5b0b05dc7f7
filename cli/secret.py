"""``tidegate secret``: stores what Tidegate must know of the GitHub App, in the form that its functions read."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Annotated, Any, NoReturn

import boto3
import typer
from botocore.exceptions import BotoCoreError, ClientError
from cryptography.hazmat.primitives.serialization import load_pem_private_key

app = typer.Typer(no_args_is_help=True, help="Store the secrets of the GitHub App in Secrets Manager.")

WEBHOOK = "tidegate/webhook-secret"
APP = "tidegate/github-app"

_Name = Annotated[str, typer.Option("--name", help="The secret's name, if not the default one.")]


@app.command("webhook")
def webhook(
    name: _Name = WEBHOOK,
    rotate: Annotated[bool, typer.Option("--rotate", help="Make a new secret; the one before stays valid.")] = False,
    retire: Annotated[bool, typer.Option("--retire", help="Let only the newest secret be valid.")] = False,
) -> None:
    """Make a webhook secret, store it, and print it once, to be pasted into the App's settings."""
    client = _client()
    known = _stored(client, name)
    if known and not (rotate or retire):
        _refuse(f"{name} exists. --rotate adds a new secret, --retire ends the old one.")
    if retire:
        if not known:
            _refuse(f"{name} does not exist, so there is nothing to retire.")
        _store(client, name, {"secrets": known[:1]})
        typer.echo(f"Only the newest secret in {name} is valid now.")
        return
    fresh = secrets.token_hex(32)
    _store(client, name, {"secrets": [fresh, *known[:1]]})
    typer.echo(f"Stored in {name}. Paste this into the App's settings, as the webhook secret:", err=True)
    typer.echo(fresh)


@app.command("app")
def github_app(
    app_id: Annotated[str, typer.Option("--id", help="The App's id, a number, from its settings page.")],
    key: Annotated[Path, typer.Option("--key", help="The private key that GitHub gave you, a .pem file.")],
    name: _Name = APP,
) -> None:
    """Store the App's id and private key."""
    if not app_id.isdigit():
        _refuse(f"{app_id!r} is not an App's id: it is a number, shown as App ID on the App's settings page.")
    try:
        pem = key.read_bytes()
        load_pem_private_key(pem, password=None)
    except OSError as error:
        _refuse(f"{key} cannot be read: {error.strerror}.")
    except (ValueError, TypeError):
        _refuse(f"{key} is not a private key in PEM form. Download a new one from the App's settings page.")
    _store(_client(), name, {"app_id": app_id, "private_key": pem.decode("ascii")})
    typer.echo(f"Stored in {name}. You may delete {key} now.")


def _client() -> Any:
    try:
        return boto3.client("secretsmanager")
    except BotoCoreError as error:
        _refuse(f"{error} Choose an account and region, for example with AWS_PROFILE and AWS_REGION.")


def _stored(client: Any, name: str) -> list[str]:
    """Return the webhook secrets that are stored, newest first; none if there is no such secret."""
    try:
        held = json.loads(client.get_secret_value(SecretId=name)["SecretString"])
    except client.exceptions.ResourceNotFoundException:
        return []
    except (ClientError, BotoCoreError) as error:
        _refuse(str(error))
    except ValueError:
        _refuse(f"{name} does not hold JSON. Delete it and try again.")
    if not isinstance(held, dict) or not isinstance(held.get("secrets"), list):
        _refuse(f'{name} does not have the form {{"secrets": […]}}. Delete it and try again.')
    return [str(secret) for secret in held["secrets"]]


def _store(client: Any, name: str, value: object) -> None:
    text = json.dumps(value)
    try:
        client.create_secret(Name=name, SecretString=text)
    except client.exceptions.ResourceExistsException:
        client.put_secret_value(SecretId=name, SecretString=text)
    except (ClientError, BotoCoreError) as error:
        _refuse(str(error))


def _refuse(problem: str) -> NoReturn:
    typer.echo(problem, err=True)
    raise typer.Exit(1)
