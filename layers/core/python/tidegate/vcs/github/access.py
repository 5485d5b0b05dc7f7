"""Access to GitHub's API: the App's token, installation tokens, and GitHub's errors.

Each call's token is limited to the one repository (for teams, to the organization) and to the permissions that the call
needs. Nothing here sleeps or retries: a call that GitHub refuses for now raises ForgeUnavailable with the time to wait,
and the caller waits at no cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from github import Auth, Github, GithubException, GithubIntegration, UnknownObjectException
from github.Repository import Repository
from requests import RequestException

from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable

Result = TypeVar("Result")

#: Seconds for GitHub to answer; its own limit is 10.
TIMEOUT = 15
#: Seconds before its expiry at which a token is no longer used, for clock differences.
TOKEN_MARGIN = 300
#: Seconds by which the App's token is backdated, and its lifetime. GitHub allows 600 by its own clock.
BACKDATED, JWT_SECONDS = 60, 300
#: Seconds to wait after a secondary limit without a time: GitHub asks for "at least one minute".
SECONDARY_LIMIT_PAUSE = 60

UNAUTHORIZED, FORBIDDEN, NOT_FOUND, UNPROCESSABLE, TOO_MANY, SERVER_ERROR = 401, 403, 404, 422, 429, 500
READ_CONTENTS = {"contents": "read", "metadata": "read"}
READ_METADATA = {"metadata": "read"}
#: The key of tokens that are for a whole organization.
_ALL_REPOSITORIES: tuple[str, ...] = ()

#: Levels of each permission, from none on.
_LEVELS = ("none", "read", "write", "admin")

#: A token's repository, all of its repositories, and its permissions.
_Key = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """The GitHub App: its id, its private key (PEM), and the token of a user who comments instead of it, if any."""

    app_id: str
    private_key: str = field(repr=False)
    comment_token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Access:
    """An installation token, its expiry (seconds since the epoch), and a client that uses it."""

    token: str = field(repr=False)
    ends: float
    client: Github


class GitHubApp:
    """Calls as the App itself. ``credentials`` is called on first use."""

    def __init__(
        self, credentials: Callable[[], AppCredentials], *, api_url: str, now: Callable[[], float] = time.time
    ) -> None:
        self._credentials = credentials
        self._api_url = api_url.rstrip("/")
        self._now = now
        self._integration: GithubIntegration | None = None
        self._slug = ""

    @property
    def app_id(self) -> str:
        return self._credentials().app_id

    @property
    def slug(self) -> str:
        """Return the App's login without ``[bot]``. Raise as ``request`` does."""
        if not self._slug:
            self._slug = self.request("GET", "/app")[1]["slug"]
        return self._slug

    def request(self, method: str, path: str, **more: Any) -> tuple[dict[str, Any], Any]:
        """Return the headers and the content of the answer. Raise what PyGithub and requests raise."""
        if self._integration is None:
            app = self._credentials()
            auth = Auth.AppAuth(app.app_id, app.private_key, jwt_expiry=JWT_SECONDS, jwt_issued_at=-BACKDATED)
            self._integration = GithubIntegration(auth=auth, **self._options())
        return self._integration.requester.requestJsonAndCheck(method, path, **more)

    def client(self, token: str) -> Github:
        """Return a client that uses an installation token."""
        return Github(auth=Auth.Token(token), **self._options())

    def call_as(self, token: str, call: Callable[[Github], Result]) -> Result:
        """Return the result of ``call`` with somebody's token. Raise ForgeUnavailable and ForgeRefused."""
        try:
            return call(self.client(token))
        except (GithubException, RequestException) as error:
            raise self.translated(error) from error

    def translated(self, error: GithubException | RequestException) -> ForgeUnavailable | ForgeRefused:
        """Return the error for a failure of PyGithub or requests."""
        if isinstance(error, RequestException):
            return ForgeUnavailable(f"no answer ({type(error).__name__})")
        problem = _problem(error)
        wait = self._wait(error)
        if wait is not None or error.status >= SERVER_ERROR or error.status == TOO_MANY:
            return ForgeUnavailable(f"{error.status} {problem}", wait)
        return ForgeRefused(error.status, problem)

    def _options(self) -> dict[str, Any]:
        return {
            "base_url": self._api_url,
            "timeout": TIMEOUT,
            "per_page": 100,
            "user_agent": "tidegate",
            "retry": None,
            "seconds_between_requests": None,
            "seconds_between_writes": None,
            "lazy": True,
        }

    def _wait(self, error: GithubException) -> int | None:
        """Return the seconds to wait if this is a rate limit of GitHub."""
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        retry_after = str(headers.get("retry-after", ""))
        if retry_after.isdigit():
            return int(retry_after)
        if error.status not in {FORBIDDEN, TOO_MANY}:
            return None
        if headers.get("x-ratelimit-remaining") == "0":
            return max(1, int(float(headers.get("x-ratelimit-reset", 0)) - self._now()) + 1)
        return SECONDARY_LIMIT_PAUSE if "rate limit" in _problem(error).lower() else None


class GitHubAccess:
    """Calls with installation tokens, which are cached until shortly before their expiry.

    An installation belongs to an account, so its number is cached for all of the account's repositories.
    """

    def __init__(self, app: GitHubApp, now: Callable[[], float] = time.time) -> None:
        self.app = app
        self._now = now
        self._known: dict[_Key, Access] = {}
        self._installations: dict[str, int] = {}

    def call(self, repository: str, permissions: Mapping[str, str], call: Callable[[Repository], Result]) -> Result:
        """Return the result of ``call`` on the repository. Raise ForgeUnavailable and ForgeRefused."""
        key = _key(repository, (repository,), permissions)
        return self._call(key, lambda client: call(client.get_repo(repository)))

    def call_organization(
        self, repository: str, permissions: Mapping[str, str], call: Callable[[Github], Result]
    ) -> Result:
        """Return the result of ``call`` with a client for the repository's organization. Raise as ``call`` does."""
        return self._call(_key(repository, _ALL_REPOSITORIES, permissions), call)

    def token(
        self, repository: str, permissions: Mapping[str, str], margin: float, others: Collection[str] = ()
    ) -> str:
        """Return a token that is valid for at least ``margin`` seconds, also for ``others``. Raise as ``call`` does."""
        try:
            return self._access(_key(repository, (repository, *sorted(others)), permissions), margin).token
        except (GithubException, RequestException) as error:
            raise self.app.translated(error) from error

    def _call(self, key: _Key, call: Callable[[Github], Result]) -> Result:
        """Call with a token; once more with a new one if GitHub rejects it."""
        try:
            try:
                return call(self._access(key, TOKEN_MARGIN).client)
            except GithubException as error:
                if error.status != UNAUTHORIZED:
                    raise
            self._known.pop(key, None)
            return call(self._access(key, TOKEN_MARGIN).client)
        except (GithubException, RequestException) as error:
            raise self.app.translated(error) from error

    def _access(self, key: _Key, margin: float) -> Access:
        access = self._known.get(key)
        if access is None or access.ends - self._now() < margin:
            self._known = {known: other for known, other in self._known.items() if other.ends > self._now()}
            access = self._known[key] = self._new_access(key)
        return access

    def _new_access(self, key: _Key) -> Access:
        """Return a new token. A reinstalled App has another installation number, which is looked up again."""
        repository = key[0]
        owner = repository.partition("/")[0]
        known = self._installations.get(owner)
        if known is not None:
            try:
                return self._access_of(known, key)
            except GithubException as error:
                if error.status not in {UNAUTHORIZED, NOT_FOUND}:
                    raise
                self._installations.pop(owner, None)
        found = self._installations[owner] = self._find(repository)
        return self._access_of(found, key)

    def _find(self, repository: str) -> int:
        """Return the number of the App's installation for a repository.

        GitHub redirects former names: if the repository moved to another account, access is refused.
        """
        found = self.app.request("GET", f"/repos/{repository}/installation")[1]
        owner = repository.partition("/")[0]
        if found["account"]["login"].lower() != owner.lower():
            raise UnknownObjectException(NOT_FOUND, {"message": f"{owner} does not have the repository any more"})
        return int(found["id"])

    def _access_of(self, installation: int, key: _Key) -> Access:
        _, repositories, permissions = key
        wanted: dict[str, Any] = {"permissions": dict(permissions)}
        if repositories != _ALL_REPOSITORIES:
            wanted["repositories"] = [each.partition("/")[2] for each in repositories]
        path = f"/app/installations/{installation}"
        try:
            _, answer = self.app.request("POST", f"{path}/access_tokens", input=wanted)
        except GithubException as error:
            lacks = self._lacking(path, dict(permissions)) if error.status == UNPROCESSABLE else ()
            if not lacks:
                raise
            raise AppLacksPermission(error.status, lacks) from error
        ends = datetime.fromisoformat(answer["expires_at"]).timestamp()
        return Access(answer["token"], ends, self.app.client(answer["token"]))

    def _lacking(self, installation: str, wanted: Mapping[str, str]) -> tuple[str, ...]:
        """Return which of the wanted permissions the installation lacks."""
        given = self.app.request("GET", installation)[1]["permissions"]
        level = _LEVELS.index
        lacks = {name for name, need in wanted.items() if level(given.get(name, "none")) < level(need)}
        return tuple(f"{name}: {wanted[name]}" for name in sorted(lacks))


def _key(repository: str, repositories: tuple[str, ...], permissions: Mapping[str, str]) -> _Key:
    return repository, repositories, tuple(sorted(permissions.items()))


def _problem(error: GithubException) -> str:
    """Return GitHub's message, in one short line."""
    words = error.data.get("message") if isinstance(error.data, dict) else error.data
    return " ".join(str(words or "no reason given").split())[:300]
