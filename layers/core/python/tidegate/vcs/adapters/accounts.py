"""Find a person's identity at the VCS provider (OAuth web application flow). Tokens are used once and never stored."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tidegate.rules.errors import ForgeUnavailable

#: Time-out of the VCS provider in seconds.
TIMEOUT = 10
_LONGEST_ANSWER = 200_000
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\[\]-]{0,98}")
#: The characters of tokens: anything else is never sent in a header.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,2000}")
#: Statuses for a token that is invalid, or not a person's.
_NOT_A_PERSON = frozenset({401, 403, 404})
#: GitLab's statuses for an invalid code.
_NOT_A_CODE = frozenset({400, 401})


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """The App's client id and client secret."""

    client_id: str
    client_secret: str = field(repr=False)


class _Accounts:
    """Common code of both VCS providers. ``client`` is called when somebody signs in."""

    #: The field of a person's login.
    _login_field = "login"
    _accepts = "application/json"

    def __init__(self, client: Callable[[], OAuthClient], *, url: str, api_url: str) -> None:
        self._client = client
        self._url, self._api_url = url.rstrip("/"), api_url.rstrip("/")

    def login_of(self, token: str) -> str | None:
        """Return the login of a token's owner; None if the token is invalid or not a person's."""
        if not _TOKEN.fullmatch(token):
            return None
        headers = {"Authorization": f"Bearer {token}", "Accept": self._accepts}
        answer = _ask(urllib.request.Request(f"{self._api_url}/user", headers=headers))  # noqa: S310  # From the settings.
        login = answer.get(self._login_field) if isinstance(answer, dict) else None
        return login if isinstance(login, str) and _LOGIN.fullmatch(login) else None

    def _exchanged(self, path: str, code: str, no: frozenset[int], **more: str) -> str | None:
        """Return the token for a code, None if the answer has one of the statuses in ``no``."""
        client = self._client()
        form = {"client_id": client.client_id, "client_secret": client.client_secret, "code": code, **more}
        request = urllib.request.Request(  # noqa: S310  # From the settings.
            f"{self._url}{path}",
            data=urllib.parse.urlencode(form).encode(),
            headers={"Accept": "application/json"},
        )
        answer = _ask(request, no)
        token = answer.get("access_token") if isinstance(answer, dict) else None
        return token if isinstance(token, str) else None

    def _sign_in(self, path: str, **query: str) -> str:
        """Return the sign-in URL."""
        return f"{self._url}{path}?{urllib.parse.urlencode({'client_id': self._client().client_id, **query})}"


class GitHubAccounts(_Accounts):
    """The port ``Accounts``, for GitHub."""

    _accepts = "application/vnd.github+json"

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        """Return the token for an OAuth code; None if the code is invalid."""
        return self._exchanged("/login/oauth/access_token", code, _NOT_A_PERSON, redirect_uri=redirect_uri)

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        """Return the sign-in URL."""
        return self._sign_in("/login/oauth/authorize", redirect_uri=redirect_uri, state=state)


class GitLabAccounts(_Accounts):
    """The port ``Accounts``, for GitLab."""

    _login_field = "username"

    def exchange(self, code: str, redirect_uri: str) -> str | None:
        """Return the token for an OAuth code; None if the code is invalid."""
        more = {"grant_type": "authorization_code", "redirect_uri": redirect_uri}
        return self._exchanged("/oauth/token", code, _NOT_A_CODE, **more)

    def authorize_url(self, state: str, redirect_uri: str) -> str:
        """Return the sign-in URL, which requests nothing but the person's identity."""
        asked = {"redirect_uri": redirect_uri, "response_type": "code", "scope": "read_user", "state": state}
        return self._sign_in("/oauth/authorize", **asked)


def _ask(request: urllib.request.Request, no: frozenset[int] = _NOT_A_PERSON) -> Any:
    """Return the JSON of an answer, None for a refusing status. Raise ForgeUnavailable."""
    request.add_header("User-Agent", "tidegate")
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:  # noqa: S310  # From the settings.
            return json.loads(answer.read(_LONGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            if error.code in no and error.headers.get("x-ratelimit-remaining") != "0":
                return None
            raise ForgeUnavailable(f"{error.code} for an account", _wait(error)) from error
    except (OSError, ValueError) as error:
        raise ForgeUnavailable(f"no answer about an account ({type(error).__name__})") from error


def _wait(error: urllib.error.HTTPError) -> int | None:
    after = error.headers.get("retry-after", "")
    return int(after) if after.isdigit() else None
