"""Comments under pull requests on GitHub."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from github import GithubException
from github.Repository import Repository

from tidegate.adapters.github_access import NOT_FOUND, GitHubAccess
from tidegate.domain.errors import NotFound

_WRITE_PULLS = {"pull_requests": "write", "metadata": "read"}
_PER_PAGE = 100


class GitHubComments:
    """The part of the port ``Forge`` that is about comments."""

    _access: GitHubAccess

    def comment(self, installation: int, repository: str, number: int, text: str) -> int:
        def call(repo: Repository) -> int:
            path = f"{repo.url}/issues/{number}/comments"
            _, answer = repo.requester.requestJsonAndCheck("POST", path, input={"body": text})
            return int(answer["id"])

        return self._access.call(installation, repository, _WRITE_PULLS, call)

    def update_comment(
        self,
        installation: int,
        repository: str,
        number: int,  # noqa: ARG002  # GitHub knows comments by their own numbers.
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

        self._access.call(installation, repository, _WRITE_PULLS, call)

    def our_comments(self, installation: int, repository: str, number: int, marker: str) -> Mapping[int, str]:
        def call(repo: Repository) -> Mapping[int, str]:
            ours = f"{self._access.app.slug}[bot]"
            found: dict[int, str] = {}
            for page in itertools.count(1):
                path = f"{repo.url}/issues/{number}/comments?per_page={_PER_PAGE}&page={page}"
                _, answer = repo.requester.requestJsonAndCheck("GET", path)
                found.update((each["id"], each["body"]) for each in answer if _is_marked(each, ours, marker))
                if len(answer) < _PER_PAGE:
                    break
            return found

        return self._access.call(installation, repository, _WRITE_PULLS, call)

    def react(
        self,
        installation: int,
        repository: str,
        number: int,  # noqa: ARG002
        comment: int,
        reaction: str,
    ) -> None:
        def call(repo: Repository) -> None:
            path = f"{repo.url}/issues/comments/{comment}/reactions"
            repo.requester.requestJsonAndCheck("POST", path, input={"content": reaction})

        self._access.call(installation, repository, _WRITE_PULLS, call)


def _is_marked(comment: Mapping[str, Any], ours: str, marker: str) -> bool:
    """Tell whether our App wrote it, and with this marker. Nobody else can have a login with brackets."""
    user = comment["user"] or {}
    is_ours = user.get("type") == "Bot" and user.get("login") == ours
    return is_ours and (comment["body"] or "").startswith(marker)
