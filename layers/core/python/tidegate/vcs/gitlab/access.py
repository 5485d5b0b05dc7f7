"""Access to GitLab's API: one token for all projects, and GitLab's errors.

Nothing here sleeps or retries: a call that GitLab refuses for now raises ForgeUnavailable with the time to wait, and
the caller waits at no cost.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import HTTPError

from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable
from tidegate.rules.timestamp import timestamp_from

#: Seconds for GitLab to answer.
TIMEOUT = 15
#: Seconds to wait after a rate limit without a time: GitLab's limits are per minute.
LIMIT_PAUSE = 60
#: GitLab's maximum page size.
PER_PAGE = 100

NO_CONTENT, BAD_REQUEST, FORBIDDEN, NOT_FOUND, TOO_MANY, SERVER_ERROR = 204, 400, 403, 404, 429, 500
_SUCCESS = range(200, 300)
_INSUFFICIENT_SCOPE = "insufficient_scope"

Query = Mapping[str, str | int | Sequence[str]]


@dataclass(frozen=True, slots=True)
class GitLabCredentials:
    """The tokens of Tidegate's user: ``token`` for the API, ``clone_token`` only for reading repositories."""

    token: str = field(repr=False)
    clone_token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class GitLabUser:
    """A user: its number and its username."""

    id: int
    username: str


class GitLabAccess:
    """Calls with the token. ``credentials`` is called for every request: tokens are rotated at least once a year."""

    def __init__(
        self, credentials: Callable[[], GitLabCredentials], *, api_url: str, now: Callable[[], float] = time.time
    ) -> None:
        self.credentials = credentials
        self._api_url = api_url.rstrip("/")
        self._now = now
        self._pool = urllib3.PoolManager(timeout=TIMEOUT, retries=False)
        self._me: GitLabUser | None = None

    @property
    def me(self) -> GitLabUser:
        """The token's user. Raise as ``call`` does."""
        if self._me is None:
            answer = self.call("GET", "/user")
            self._me = GitLabUser(answer["id"], answer["username"])
        return self._me

    def call(self, method: str, path: str, query: Query | None = None, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of the answer. Raise ForgeUnavailable and ForgeRefused."""
        answer = self._answer(method, path, query, body)
        try:
            return None if answer.status == NO_CONTENT else answer.json()
        except ValueError as error:
            raise ForgeUnavailable("the response is not JSON") from error

    def content(self, path: str) -> bytes:
        """Return the answer as it is. Raise as ``call`` does."""
        return self._answer("GET", path).data

    def _answer(
        self, method: str, path: str, query: Query | None = None, body: Mapping[str, Any] | None = None
    ) -> urllib3.BaseHTTPResponse:
        address = f"{self._api_url}{path}" + (f"?{urlencode(query, doseq=True)}" if query else "")
        headers = {"PRIVATE-TOKEN": self.credentials().token, "User-Agent": "tidegate"}
        try:
            answer = self._pool.request(method, address, headers=headers, json=body, redirect=False)
        except HTTPError as error:
            raise ForgeUnavailable(f"no answer ({type(error).__name__})") from error
        if answer.status not in _SUCCESS:
            raise self._refusal(answer)
        return answer

    def find(self, path: str, query: Query | None = None) -> Any:
        """Return the JSON, None if it does not exist. Raise as ``call`` does."""
        try:
            return self.call("GET", path, query)
        except ForgeRefused as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def delete(self, path: str) -> None:
        """Delete something, which may be gone already. Raise as ``call`` does."""
        try:
            self.call("DELETE", path)
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise

    def pages(self, path: str, /, **query: str | int) -> Iterator[Any]:
        """Yield all items of a list. Raise as ``call`` does."""
        for page in itertools.count(1):
            found = self.call("GET", path, {**query, "per_page": PER_PAGE, "page": page})
            yield from found
            if len(found) < PER_PAGE:
                return

    def _refusal(self, answer: urllib3.BaseHTTPResponse) -> ForgeUnavailable | ForgeRefused:
        """Return the error for an unsuccessful answer."""
        said = _read(answer)
        problem = f"{answer.status} {_problem(said)}"
        if answer.status == TOO_MANY or answer.status >= SERVER_ERROR:
            return ForgeUnavailable(problem, self._wait(answer))
        if answer.status == FORBIDDEN and isinstance(said, dict) and said.get("error") == _INSUFFICIENT_SCOPE:
            return AppLacksPermission(FORBIDDEN, (f"scope {said.get('scope') or 'api'}",))
        return ForgeRefused(answer.status, _problem(said))

    def _wait(self, answer: urllib3.BaseHTTPResponse) -> int | None:
        """Return the seconds to wait for a rate limit."""
        after, reset = answer.headers.get("retry-after", ""), answer.headers.get("ratelimit-reset", "")
        if after.isdigit():
            return int(after)
        if answer.status != TOO_MANY:
            return None
        return max(1, int(reset) - int(self._now()) + 1) if reset.isdigit() else LIMIT_PAUSE


def project(repository: str) -> str:
    """Return the path of a project in the API."""
    return f"/projects/{quote(repository, safe='')}"


def moment(text: str) -> datetime:
    """Return one of GitLab's times in UTC."""
    return timestamp_from(text)


def _read(answer: urllib3.BaseHTTPResponse) -> Any:
    try:
        return json.loads(answer.data)
    except ValueError:
        return answer.data.decode("utf-8", "replace")


def _problem(said: Any) -> str:
    """Return GitLab's message, in one short line."""
    words = (
        (said.get("message") or said.get("error_description") or said.get("error")) if isinstance(said, dict) else said
    )
    text = words if isinstance(words, str) else json.dumps(words)
    return " ".join(text.split())[:300] or "no reason given"
