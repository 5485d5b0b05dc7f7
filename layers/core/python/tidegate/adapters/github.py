"""GitHub: the port ``Forge`` on PyGithub, with the App's installation tokens.

Every call uses a token that is limited to the one repository and to the permissions that the call
needs. Nothing here sleeps or tries again: a call that GitHub does not take for now raises
ForgeUnavailable with the time to wait, and the queue or state machine around it waits at no cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from github import Auth, Github, GithubException, GithubIntegration
from github.CheckRun import CheckRun as GitHubCheckRun
from github.Repository import Repository
from requests import RequestException

from tidegate.adapters.addresses import GitHubAddresses
from tidegate.domain.check_run import CheckRun
from tidegate.domain.errors import ForgeRefused, ForgeUnavailable
from tidegate.domain.revision import Comparison

Result = TypeVar("Result")

#: Seconds for GitHub to answer; its own limit is 10.
TIMEOUT = 15
#: Seconds before its end that a token is not used any more, for clocks that differ.
TOKEN_MARGIN = 300
#: Seconds that a token for cloning is good for at least: an engine may fetch modules late in its init.
CLONE_MARGIN = 1800
#: Seconds that the App's own token is backdated by, and good for. GitHub allows 600 by its own clock.
BACKDATED, JWT_SECONDS = 60, 300
#: Seconds to wait after a secondary limit that names no time: GitHub asks for "at least one minute".
SECONDARY_LIMIT_PAUSE = 60

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _UNPROCESSABLE, _TOO_MANY, _SERVER_ERROR = 401, 403, 404, 422, 429, 500
_READ_CONTENTS = {"contents": "read", "metadata": "read"}
_READ_METADATA = {"metadata": "read"}
_WRITE_CHECKS = {"checks": "write", "metadata": "read"}


@dataclass(frozen=True, slots=True)
class AppCredentials:
    """The GitHub App: its id and its private key (PEM)."""

    app_id: str
    private_key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Access:
    """An installation token, when it ends (seconds since the epoch), and a client that uses it."""

    token: str = field(repr=False)
    ends: float
    client: Github


class GitHubForge(GitHubAddresses):
    """The port ``Forge``. ``credentials`` is asked when the first token is needed."""

    def __init__(
        self,
        credentials: Callable[[], AppCredentials],
        *,
        url: str,
        api_url: str,
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(url)
        self._credentials = credentials
        self._api_url = api_url.rstrip("/")
        self._now = now
        self._app: GithubIntegration | None = None
        self._known: dict[tuple[int, str, tuple[tuple[str, str], ...]], _Access] = {}

    def compare(self, installation: int, repository: str, base: str, head: str) -> Comparison:
        def call(repo: Repository) -> Comparison:
            try:
                return Comparison(repo.compare(base, head, comparison_commits_per_page=1).status)
            except GithubException as error:
                if error.status != _NOT_FOUND:
                    raise
            return Comparison.BASE_MISSING if _has_commit(repo, head) else Comparison.HEAD_MISSING

        return self._call(installation, repository, _READ_CONTENTS, call)

    def may_write(self, installation: int, repository: str, user: str) -> bool:
        def call(repo: Repository) -> bool:
            try:
                return repo.get_collaborator_permission(user) in {"admin", "write"}
            except GithubException as error:
                if error.status == _NOT_FOUND:
                    return False
                raise

        return self._call(installation, repository, _READ_METADATA, call)

    def create_check_run(self, installation: int, repository: str, check_run: CheckRun) -> int:
        def call(repo: Repository) -> int:
            return repo.create_check_run(head_sha=check_run.sha, **_shown(check_run)).id

        return self._call(installation, repository, _WRITE_CHECKS, call)

    def update_check_run(self, installation: int, repository: str, check_run_id: int, check_run: CheckRun) -> None:
        def call(repo: Repository) -> None:
            repo.get_check_run(check_run_id).edit(**_shown(check_run))

        self._call(installation, repository, _WRITE_CHECKS, call)

    def find_check_run(self, installation: int, repository: str, sha: str, external_id: str) -> int | None:
        ours = self._credentials().app_id

        def call(repo: Repository) -> int | None:
            runs = repo.get_commit(sha).get_check_runs(filter="all")
            return max((run.id for run in runs if run.external_id == external_id and _is_of(run, ours)), default=None)

        return self._call(installation, repository, _WRITE_CHECKS, call)

    def clone_token(self, installation: int, repository: str) -> str:
        try:
            return self._access(installation, repository, _READ_CONTENTS, CLONE_MARGIN).token
        except (GithubException, RequestException) as error:
            raise self._translated(error) from error

    def _call(
        self, installation: int, repository: str, permissions: Mapping[str, str], call: Callable[[Repository], Result]
    ) -> Result:
        """Call with a token; once more with a new one when GitHub does not know the token any more."""
        try:
            try:
                return call(self._access(installation, repository, permissions).client.get_repo(repository))
            except GithubException as error:
                if error.status != _UNAUTHORIZED:
                    raise
            self._known.pop(_key(installation, repository, permissions), None)
            return call(self._access(installation, repository, permissions).client.get_repo(repository))
        except (GithubException, RequestException) as error:
            raise self._translated(error) from error

    def _access(
        self, installation: int, repository: str, permissions: Mapping[str, str], margin: float = TOKEN_MARGIN
    ) -> _Access:
        key = _key(installation, repository, permissions)
        access = self._known.get(key)
        if access is None or access.ends - self._now() < margin:
            self._known = {known: other for known, other in self._known.items() if other.ends > self._now()}
            access = self._known[key] = self._new_access(installation, repository, permissions)
        return access

    def _new_access(self, installation: int, repository: str, permissions: Mapping[str, str]) -> _Access:
        wanted = {"repositories": [repository.partition("/")[2]], "permissions": dict(permissions)}
        path = f"/app/installations/{installation}/access_tokens"
        _, answer = self._integration().requester.requestJsonAndCheck("POST", path, input=wanted)
        token = answer["token"]
        client = Github(auth=Auth.Token(token), **self._options())
        return _Access(token, datetime.fromisoformat(answer["expires_at"]).timestamp(), client)

    def _integration(self) -> GithubIntegration:
        if self._app is None:
            app = self._credentials()
            auth = Auth.AppAuth(app.app_id, app.private_key, jwt_expiry=JWT_SECONDS, jwt_issued_at=-BACKDATED)
            self._app = GithubIntegration(auth=auth, **self._options())
        return self._app

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

    def _translated(self, error: GithubException | RequestException) -> ForgeUnavailable | ForgeRefused:
        if isinstance(error, RequestException):
            return ForgeUnavailable(f"no answer ({type(error).__name__})")
        problem = _problem(error)
        wait = self._wait(error)
        if wait is not None or error.status >= _SERVER_ERROR or error.status == _TOO_MANY:
            return ForgeUnavailable(f"{error.status} {problem}", wait)
        return ForgeRefused(error.status, problem)

    def _wait(self, error: GithubException) -> int | None:
        """Return the seconds that GitHub asks to wait, if this is one of its limits."""
        headers = {name.lower(): value for name, value in (error.headers or {}).items()}
        retry_after = str(headers.get("retry-after", ""))
        if retry_after.isdigit():
            return int(retry_after)
        if error.status not in {_FORBIDDEN, _TOO_MANY}:
            return None
        if headers.get("x-ratelimit-remaining") == "0":
            return max(1, int(float(headers.get("x-ratelimit-reset", 0)) - self._now()) + 1)
        return SECONDARY_LIMIT_PAUSE if "rate limit" in _problem(error).lower() else None


def _key(
    installation: int, repository: str, permissions: Mapping[str, str]
) -> tuple[int, str, tuple[tuple[str, str], ...]]:
    return installation, repository, tuple(sorted(permissions.items()))


def _has_commit(repo: Repository, sha: str) -> bool:
    """Tell whether the forge has a commit. GitHub answers 422 for a SHA that it does not know, others 404."""
    try:
        repo.get_commit(sha).complete()
    except GithubException as error:
        if error.status in {_NOT_FOUND, _UNPROCESSABLE}:
            return False
        raise
    return True


def _is_of(check_run: GitHubCheckRun, app_id: str) -> bool:
    """Tell whether our App made the check run: another's may have any external id. An App's id may be its client id."""
    return not app_id.isdigit() or check_run.app.id == int(app_id)


def _problem(error: GithubException) -> str:
    """Return GitHub's own words, in one short line."""
    words = error.data.get("message") if isinstance(error.data, dict) else error.data
    return " ".join(str(words or "no reason given").split())[:300]


def _shown(check_run: CheckRun) -> dict[str, Any]:
    """Return what a check run shows as PyGithub takes it; what is empty takes away what was shown before."""
    shown: dict[str, Any] = {
        "name": check_run.name,
        "external_id": check_run.external_id,
        "status": check_run.status,
        "output": {"title": check_run.title, "summary": check_run.summary, "text": check_run.text},
        "actions": [
            {"label": action.button.value, "description": action.description, "identifier": action.button.value}
            for action in check_run.actions
        ],
    }
    if check_run.conclusion is not None:
        shown["conclusion"] = check_run.conclusion.value
    if check_run.details_url is not None:
        shown["details_url"] = check_run.details_url
    return shown
