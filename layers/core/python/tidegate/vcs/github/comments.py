"""Comments under pull requests on GitHub."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from github import GithubException
from github.Repository import Repository

from tidegate.rules.errors import NotFound
from tidegate.vcs.github.access import NOT_FOUND, GitHubAccess

_WRITE_PULLS = {"pull_requests": "write", "metadata": "read"}
_PER_PAGE = 100

Result = TypeVar("Result")


class GitHubComments:
    """The port ``Comments``."""

    _access: GitHubAccess

    @property
    def _comment_token(self) -> str:
        """The token of a user who comments in place of the App, if one is set."""
        return ""

    def _commenting(self, repository: str, call: Callable[[Repository], Result]) -> Result:
        """Call as the App, or as the user whose token is for comments. Raise ForgeUnavailable and ForgeRefused."""
        if not self._comment_token:
            return self._access.call(repository, _WRITE_PULLS, call)
        return self._access.app.call_as(self._comment_token, lambda client: call(client.get_repo(repository)))

    @cached_property
    def _ours(self) -> tuple[str, str]:
        """The login and the kind of who writes our comments."""
        if not self._comment_token:
            return f"{self._access.app.slug}[bot]", "Bot"
        return self._access.app.call_as(self._comment_token, lambda client: (client.get_user().login, "User"))

    def comment(self, repository: str, number: int, text: str) -> int:
        def call(repo: Repository) -> int:
            path = f"{repo.url}/issues/{number}/comments"
            _, answer = repo.requester.requestJsonAndCheck("POST", path, input={"body": text})
            return int(answer["id"])

        return self._commenting(repository, call)

    def update_comment(
        self,
        repository: str,
        number: int,
        comment: int,
        text: str,
    ) -> None:
        def call(repo: Repository) -> None:
            path = f"{repo.url}/issues/comments/{comment}"
            try:
                repo.requester.requestJsonAndCheck("PATCH", path, input={"body": text})
            except GithubException as error:
                if error.status != NOT_FOUND:
                    raise
                raise NotFound("comment", str(comment)) from None

        self._commenting(repository, call)

    def our_comments(self, repository: str, number: int, marker: str) -> Mapping[int, str]:
        def call(repo: Repository) -> Mapping[int, str]:
            ours = self._ours
            found: dict[int, str] = {}
            for page in itertools.count(1):
                path = f"{repo.url}/issues/{number}/comments?per_page={_PER_PAGE}&page={page}"
                _, answer = repo.requester.requestJsonAndCheck("GET", path)
                found.update((each["id"], each["body"]) for each in answer if _is_marked(each, ours, marker))
                if len(answer) < _PER_PAGE:
                    break
            return found

        return self._commenting(repository, call)

    def react(
        self,
        repository: str,
        number: int,
        comment: int,
        reaction: str,
    ) -> None:
        def call(repo: Repository) -> None:
            path = f"{repo.url}/issues/comments/{comment}/reactions"
            repo.requester.requestJsonAndCheck("POST", path, input={"content": reaction})

        self._commenting(repository, call)


def _is_marked(comment: Mapping[str, Any], ours: tuple[str, str], marker: str) -> bool:
    """Tell whether our App wrote it, with this marker. Nobody else can have a login with brackets."""
    user = comment["user"] or {}
    is_ours = (user.get("login"), user.get("type")) == ours
    return is_ours and (comment["body"] or "").startswith(marker)
