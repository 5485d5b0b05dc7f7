"""The URL of Tidegate's HTTP API and the token: from options, the environment, or a running local cloud."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tidegate_cli.problems import NotSignedIn, WrongUsage
from tidegate_local import instances

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WHERE = "Set TIDEGATE_URL (or --url) to the URL of your installation, or start a local cloud: tidegate local up"
_WHO = (
    "Set TIDEGATE_TOKEN to a GitHub or GitLab token that can read your repositories "
    '(for example: export TIDEGATE_TOKEN="$(gh auth token)").'
)


@dataclass(frozen=True, slots=True)
class Connection:
    """The API's URL without a trailing slash, and the token.

    ``token_from`` names the token's source; no representation contains the token. ``note`` is a message about the
    choice.
    """

    url: str
    token: str = field(repr=False)
    token_from: str
    is_local: bool = False
    note: str = ""


def connect(url: str | None, person: str | None, environ: Mapping[str, str] = os.environ) -> Connection:
    """Choose the URL and the token. ``person`` is a login of the local forge. Raise WrongUsage, NotSignedIn."""
    address = (url or environ.get("TIDEGATE_URL") or "").strip()
    known = instances.running()
    clouds = known if address else instances.of_this_checkout(known)
    cloud = _cloud_at(address, clouds) if address else next(iter(clouds), None)
    if cloud is None and not address:
        hint = f"{instances.elsewhere(known)}{_WHERE}"
        raise WrongUsage("Tidegate's URL is not set, and no local cloud is running.", hint)
    base = checked_url(address or str(cloud["api_url"] if cloud else ""))
    note = _note(clouds) if not address else ""
    if cloud is not None and cloud.get("forge_url") and (person or not (address and environ.get("TIDEGATE_TOKEN"))):
        # A real token must not be sent to the local forge, where a person's login is their token.
        return Connection(base, printable(person or "maintainer", "--as"), "--as", is_local=True, note=note)
    if person:
        raise WrongUsage("--as names a user of the local forge: it needs a local cloud.", _WHO)
    return _with_token_of(environ, base, is_local=cloud is not None, note=note)


def is_loopback(url: str) -> bool:
    """Tell whether the address is this machine's own."""
    return urlsplit(url).hostname in _LOOPBACK


def _with_token_of(environ: Mapping[str, str], base: str, *, is_local: bool, note: str) -> Connection:
    for name in ("TIDEGATE_TOKEN", "GITHUB_TOKEN"):
        if token := environ.get(name, "").strip():
            return Connection(base, printable(token, name), name, is_local=is_local, note=note)
    raise NotSignedIn(f"You are not signed in at {base}: neither TIDEGATE_TOKEN nor GITHUB_TOKEN is set.", _WHO)


def _cloud_at(address: str, clouds: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    wanted = _port(address)
    return next((cloud for cloud in clouds if wanted and wanted == _port(str(cloud["api_url"]))), None)


def _port(url: str) -> int | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    return port if parts.hostname in _LOOPBACK else None


def checked_url(url: str) -> str:
    """Return the address if a token may be sent there. Raise WrongUsage."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in {"http", "https"} or parts.username or parts.query or parts.fragment:
        raise WrongUsage("The URL of Tidegate is invalid.", "Use the form https://tidegate.example.com")
    if parts.scheme == "http" and host not in _LOOPBACK:
        raise WrongUsage(f"The URL begins with http://, so {host} would get the token unencrypted.", "Use https://.")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def printable(token: str, name: str) -> str:
    """Return the token if it can be sent. It is not shown when it cannot."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise WrongUsage(
            f"{name} contains a character that tokens cannot have, such as a line break or a space.", "Set it again."
        )
    return token


def _note(clouds: Sequence[Mapping[str, Any]]) -> str:
    if len(clouds) <= 1:
        return ""
    others = ", ".join(str(cloud["api_url"]) for cloud in clouds[1:])
    return (
        f"Several local clouds are running. This command uses the newest, {clouds[0]['api_url']}. "
        f"Choose another with --url: {others}"
    )
