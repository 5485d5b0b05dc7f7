"""``tidegate secret``: store the secrets of the VCS provider in the form that functions read."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from json import dumps, loads
from os import environ
from pathlib import Path
from typing import Annotated, Any

import typer

from tidegate_cli import aws, screen
from tidegate_cli.options import PREFIX, Json, Prefix
from tidegate_cli.problems import Refused, WrongUsage
from tidegate_cli.tree import Command, Group

app = typer.Typer(
    cls=Group, no_args_is_help=True, help="Store the secrets of the GitHub App, or of GitLab, in Secrets Manager."
)

WEBHOOK, APP, GITLAB = "webhook-secret", "github-app", "gitlab"
#: What follows the prefix in the names of the secrets that each command stores.
_USUAL = {"webhook": WEBHOOK, "app": APP, "gitlab": GITLAB}
#: The names that the design has for the token of who comments on GitHub, and for GitLab's.
GITHUB_TOKEN = "BURRITO_CONTROLLER_GITHUBCONFIG_APITOKEN"  # noqa: S105  # A name, no value.
GITLAB_TOKEN = "BURRITO_CONTROLLER_GITLABCONFIG_APITOKEN"  # noqa: S105  # A name, no value.

_Name = Annotated[str | None, typer.Option("--name", help="The secret's name, if not the installation's usual one.")]


def storing(command: str, name: str, options: str = "") -> str:
    """Return which ``tidegate secret`` stores a secret with this name, as text in backticks."""
    prefix, _, last = name.rpartition("/")
    where = f"--name {name}" if last != _USUAL[command] else "" if prefix == PREFIX else f"--prefix {prefix}"
    return f"`{' '.join(filter(None, ('tidegate secret', command, where, options)))}`"


@app.command(cls=Command, name="webhook")
def webhook(
    *,
    prefix: Prefix = PREFIX,
    name: _Name = None,
    rotate: Annotated[bool, typer.Option("--rotate", help="Add a new secret. The previous one stays valid.")] = False,
    retire: Annotated[bool, typer.Option("--retire", help="Keep only the newest secret valid.")] = False,
    json: Json = False,
) -> None:
    """Make and store a webhook secret, and print it once, for the settings of the App or of GitLab's webhook."""
    client, name = _client(), name or f"{prefix}/{WEBHOOK}"
    known = _webhook_secrets(client, name)
    if retire:
        if not known:
            raise Refused(f"{name} does not exist: there is nothing to retire.")
        _store(client, name, {"secrets": known[:1]})
        screen.say(f"Only the newest secret in {name} is valid now.", {"name": name, "valid": 1}, json=json)
        return
    if known and not rotate:
        raise Refused(f"{name} exists.", "--rotate adds a new secret, --retire ends the old one.")
    valid = [secrets.token_hex(32), *known[:1]]
    _store(client, name, {"secrets": valid})
    if not json:
        where = "the App's settings, as the webhook secret (on GitLab: the webhook's Secret token)"
        typer.echo(f"Stored in {name}. Paste this into {where}:", err=True)
    screen.say(valid[0], {"name": name, "valid": len(valid), "secret": valid[0]}, json=json)


_AppId = Annotated[
    str | None, typer.Option("--id", metavar="NUMBER", help="The App's id, a number, from its settings page.")
]
_AppKey = Annotated[
    Path | None, typer.Option("--key", metavar="FILE", help="The private key that GitHub gave you, a .pem file.")
]
_AppClientId = Annotated[
    str | None, typer.Option("--client-id", metavar="ID", help="The App's client id, for sign-in.")
]
_AppSecretFile = Annotated[
    Path | None,
    typer.Option("--client-secret-file", metavar="FILE", help="A file with the client secret. - reads stdin."),
]

_CommentTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--comment-token-file",
        metavar="FILE",
        help="A file with the token of a user who comments instead of the App; - reads stdin. "
        f"Default: {GITHUB_TOKEN}, if it is set.",
    ),
]


@app.command(cls=Command, name="app")
def github_app(
    *,
    app_id: _AppId = None,
    key: _AppKey = None,
    client_id: _AppClientId = None,
    client_secret_file: _AppSecretFile = None,
    comment_token_file: _CommentTokenFile = None,
    prefix: Prefix = PREFIX,
    name: _Name = None,
    json: Json = False,
) -> None:
    """Store the App's id and private key, and what people sign in with on the web pages.

    Keeps stored values that you do not give.
    """
    _together(("--id", app_id), ("--key", key))
    _together(("--client-id", client_id), ("--client-secret-file", client_secret_file))
    given = environ.get(GITHUB_TOKEN, "").strip()
    fields = {
        **key_of(app_id, key),
        **_oauth_of(client_id, client_secret_file),
        **({"comment_token": given} if given else {}),
        **({"comment_token": _line_in(comment_token_file, "token")} if comment_token_file else {}),
    }
    if not fields:
        raise WrongUsage(
            "You gave nothing to store.", "Give --id and --key, or --client-id and --client-secret-file, or all."
        )
    client, name = _client(), name or f"{prefix}/{APP}"
    _store(client, name, {**(_read(client, name) or {}), **fields})
    deletable = " and ".join(
        str(file) for file in (key, client_secret_file, comment_token_file) if file and str(file) != "-"
    )
    text = f"Stored in {name}." + (f" You may delete {deletable} now." if deletable else "")
    screen.say(text, {"name": name, "stored": sorted(fields)}, json=json)


_TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help=f"A file with an access token with the scope api; - reads stdin. Default: {GITLAB_TOKEN}.",
    ),
]
_CloneTokenFile = Annotated[
    Path | None,
    typer.Option(
        "--clone-token-file",
        metavar="FILE",
        help="A file with an access token that has the scope read_repository only. Runners get it.",
    ),
]
_GitLabClientId = Annotated[str | None, typer.Option("--client-id", metavar="ID", help="The OAuth application's id.")]
_GitLabSecretFile = Annotated[
    Path | None, typer.Option("--client-secret-file", metavar="FILE", help="A file with its secret. - reads stdin.")
]


@app.command(cls=Command, name="gitlab")
def gitlab(
    *,
    token_file: _TokenFile = None,
    clone_token_file: _CloneTokenFile = None,
    client_id: _GitLabClientId = None,
    client_secret_file: _GitLabSecretFile = None,
    prefix: Prefix = PREFIX,
    name: _Name = None,
    json: Json = False,
) -> None:
    """Store the tokens of Tidegate's user on GitLab, and what people sign in with on the web pages.

    Keeps stored values that you do not give.
    """
    _together(("--client-id", client_id), ("--client-secret-file", client_secret_file))
    given = environ.get(GITLAB_TOKEN, "").strip()
    fields = {
        **({"token": given} if given else {}),
        **({"token": _line_in(token_file, "token")} if token_file else {}),
        **({"clone_token": _line_in(clone_token_file, "token")} if clone_token_file else {}),
        **_oauth_of(client_id, client_secret_file),
    }
    if not fields:
        raise WrongUsage("You gave nothing to store.", "Give --token-file and --clone-token-file.")
    client, name = _client(), name or f"{prefix}/{GITLAB}"
    whole = {**(_read(client, name) or {}), **fields}
    if whole.get("token") == whole.get("clone_token") and "token" in whole:
        raise Refused(
            "Both tokens are the same.", "Runners get the clone token: give it the scope read_repository only."
        )
    _store(client, name, whole)
    missing = [each for each in ("token", "clone_token") if each not in whole]
    text = f"Stored in {name}." + (f" It still lacks {' and '.join(missing)}." if missing else "")
    screen.say(text, {"name": name, "stored": sorted(fields), "missing": missing}, json=json)


def _together(*options: tuple[str, object]) -> None:
    missing = [name for name, value in options if value is None]
    if len(missing) == 1:
        given = next(name for name, value in options if value is not None)
        raise WrongUsage(f"{missing[0]} is missing: {given} needs it.")


def key_of(app_id: str | None, key: Path | None) -> Mapping[str, str]:
    if app_id is None or key is None:
        return {}
    if not app_id.isdigit():
        raise Refused(f"{app_id!r} is not an App's id: it is a number, shown as App ID on the App's settings page.")
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        pem = key.read_bytes()
        load_pem_private_key(pem, password=None)
    except OSError as error:
        raise Refused(f"{key} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        advice = "Download a new key from the App's settings page."
        raise Refused(f"{key} is not a private key in PEM format.", advice) from error
    return {"app_id": app_id, "private_key": pem.decode("ascii")}


def _oauth_of(client_id: str | None, file: Path | None) -> Mapping[str, str]:
    if client_id is None or file is None:
        return {}
    return {"client_id": client_id.strip(), "client_secret": _line_in(file, "client secret")}


def _line_in(file: Path, what: str) -> str:
    """Return the only word in a file. Raise Refused."""
    try:
        secret = (sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{file} cannot be read as text.") from error
    if not secret.isascii() or not secret.isprintable() or not secret or " " in secret:
        raise Refused(f"{file} must contain one {what} and nothing else.")
    return secret


def _client() -> Any:
    with aws.refusals("Choose an account and region, for example with AWS_PROFILE and AWS_REGION."):
        return aws.client("secretsmanager")


def _read(client: Any, name: str) -> dict[str, Any] | None:
    """Return the object that a secret holds; None if there is no such secret."""
    with aws.refusals():
        try:
            text = client.get_secret_value(SecretId=name)["SecretString"]
        except client.exceptions.ResourceNotFoundException:
            return None
    try:
        held = loads(text)
    except ValueError:
        held = None
    if not isinstance(held, dict):
        raise Refused(f"{name} contains no JSON object.", "Delete it and try again.")
    return held


def _webhook_secrets(client: Any, name: str) -> list[str]:
    """Return the webhook secrets that are stored, newest first; none if there is no such secret."""
    held = _read(client, name)
    if held is None:
        return []
    if not isinstance(held.get("secrets"), list):
        raise Refused(f'{name} does not have the form {{"secrets": […]}}.', "Delete it and try again.")
    return [str(secret) for secret in held["secrets"]]


def _store(client: Any, name: str, value: object) -> None:
    text = dumps(value)
    with aws.refusals(""):
        try:
            client.create_secret(Name=name, SecretString=text)
        except client.exceptions.ResourceExistsException:
            client.put_secret_value(SecretId=name, SecretString=text)
