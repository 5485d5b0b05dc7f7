"""The token of a CI run, and what CI's variables say of it."""

from __future__ import annotations

import os
from collections.abc import Mapping

import httpx

from tidegate_cli.connection import Connection, checked_url, is_loopback, printable
from tidegate_cli.problems import NotSignedIn, Unavailable, WrongUsage

#: The variable with a token that CI has made; on GitLab, a job's ``id_tokens`` sets it.
TOKEN = "TIDEGATE_CI_TOKEN"  # noqa: S105  # A variable's name.
_REQUEST_URL, _REQUEST_TOKEN = "ACTIONS_ID_TOKEN_REQUEST_URL", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"
_SECONDS = 10.0
_HINT = (
    "On GitHub, give the job `permissions: {id-token: write}`. On GitLab, give it "
    "`id_tokens: {TIDEGATE_CI_TOKEN: {aud: URL}}` with the URL of the installation (docs/config-updates.md)."
)


def connect_ci(url: str | None, audience: str, environ: Mapping[str, str] = os.environ) -> Connection:
    """Return the connection of a CI run: with its own token, or one that GitHub Actions makes for ``audience``.

    The audience is the installation's URL by default. Raise WrongUsage, NotSignedIn, Unavailable.
    """
    address = (url or environ.get("TIDEGATE_URL") or "").strip()
    if not address:
        raise WrongUsage("Tidegate's URL is not set.", "Set TIDEGATE_URL (or --url) to the URL of your installation.")
    base = checked_url(address)
    if token := environ.get(TOKEN, "").strip():
        return Connection(base, printable(token, TOKEN), TOKEN)
    if environ.get(_REQUEST_URL) and environ.get(_REQUEST_TOKEN):
        made = _requested(environ[_REQUEST_URL], environ[_REQUEST_TOKEN], audience or base)
        return Connection(base, printable(made, _REQUEST_URL), _REQUEST_URL)
    raise NotSignedIn("There is no token of a CI run.", _HINT)


def _requested(url: str, token: str, audience: str) -> str:
    """Return a token of GitHub Actions (https://docs.github.com/en/actions/reference/security/oidc)."""
    if not url.startswith("https://") and not is_loopback(url):
        raise WrongUsage(f"{_REQUEST_URL} does not begin with https://.", "GitHub Actions sets it: do not change it.")
    try:
        headers = {"Authorization": f"Bearer {printable(token, _REQUEST_TOKEN)}"}
        answer = httpx.get(httpx.URL(url).copy_merge_params({"audience": audience}), headers=headers, timeout=_SECONDS)
        made = answer.json()["value"] if answer.is_success else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        made = None
    if not isinstance(made, str):
        raise Unavailable("GitHub Actions made no token.", "Run the job again. If it fails again, see GitHub's status.")
    return made


def commit(environ: Mapping[str, str] = os.environ) -> str:
    """Return the commit that the run is for, empty outside of CI."""
    return environ.get("GITHUB_SHA") or environ.get("CI_COMMIT_SHA") or ""


def run_url(environ: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the run, empty outside of CI."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
    server, repository, run = (environ.get(name, "") for name in names)
    if server and repository and run:
        return f"{server}/{repository}/actions/runs/{run}"
    return environ.get("CI_PIPELINE_URL", "")
