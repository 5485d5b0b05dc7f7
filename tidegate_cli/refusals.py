"""Errors of the API and of the connection, as problems that say what to do."""

from __future__ import annotations

from typing import Any

import httpx

from tidegate_cli.connection import Connection
from tidegate_cli.harmless import plain
from tidegate_cli.problems import NotFound, NotPermitted, NotSignedIn, Problem, Refused, Unavailable, WrongUsage

BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which a retry may help."""
_LONGEST_MESSAGE = 2000
#: Where a CI run's token comes from.
_OF_CI = frozenset({"TIDEGATE_CI_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL"})
_BY_STATUS: dict[int, tuple[type[Problem], str]] = {
    400: (WrongUsage, ""),
    403: (NotPermitted, ""),
    404: (NotFound, ""),
    422: (WrongUsage, ""),
}


def problem(connection: Connection, response: httpx.Response) -> Problem:
    """Return the problem that an answer which is no success tells of."""
    status, (code, message) = response.status_code, _error(response)
    if status == httpx.codes.UNAUTHORIZED:
        return _unknown_token(connection, message, code)
    if status in _BY_STATUS:
        kind, hint = _BY_STATUS[status]
        return kind(message, hint, code)
    if status in BUSY:
        return Unavailable(f"{connection.url} is busy ({status}): {message}", "Try again later.", code)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR:
        return Unavailable(f"{connection.url} failed ({status}): {message}", "Check the log of the api function.", code)
    if response.is_redirect:
        return Unavailable(f"{connection.url} redirects to another URL.", "Check that the URL is Tidegate's.", code)
    return Refused(message, "", code)


def unreachable(connection: Connection) -> Problem:
    """Return what to say when nobody answers at the address."""
    if connection.is_local:
        return Unavailable(f"The local cloud at {connection.url} does not answer.", "Check it: tidegate local info")
    return Unavailable(f"{connection.url} does not answer.", "Check TIDEGATE_URL (or --url) and the network.")


def broken(url: str, method: str, error: httpx.HTTPError) -> Problem:
    """Return what to say when a request got no answer. The error's own text is left out: it may hold what was sent."""
    what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "closed the connection"
    if method == "GET":
        return Unavailable(f"{url} {what}.", "Try again later.")
    return Unavailable(f"{url} {what}. It may have done what you requested.", "Check it: tidegate status")


def is_ours(response: httpx.Response) -> bool:
    """Tell whether Tidegate itself answered, and not the gateway before it."""
    return isinstance(document(response).get("error"), dict)


def _unknown_token(connection: Connection, message: str, code: str) -> Problem:
    name = connection.token_from
    if name in _OF_CI:
        hint = "The job needs a token for the audience of this installation (docs/config-updates.md)."
        return NotSignedIn(f"{connection.url} does not accept the token of this CI run: {message}", hint, code)
    if name == "--as":
        return NotSignedIn(
            "The local forge has no user of this name.", "Use maintainer, reviewer, developer or visitor.", code
        )
    return NotSignedIn(
        f"{connection.url} does not accept the token in {name}: {message}",
        f"Set {name} to a valid token of your VCS provider, or TIDEGATE_URL to the right installation.",
        code,
    )


def document(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of an answer, an empty one where it has none."""
    try:
        found = response.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _error(response: httpx.Response) -> tuple[str, str]:
    """Return the error's code and message, as Tidegate or API Gateway says them."""
    found = document(response)
    error = found.get("error")
    if isinstance(error, dict):
        return str(error.get("code", "")), plain(str(error.get("message", "")))[:_LONGEST_MESSAGE]
    return "", plain(str(found.get("message") or response.reason_phrase))[:_LONGEST_MESSAGE]
