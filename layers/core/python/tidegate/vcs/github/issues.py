"""Issues of a repository on GitHub: the port ``ForgeIssues``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from github import GithubException
from github.Repository import Repository

from tidegate.rules.errors import NotFound
from tidegate.vcs.github.access import NOT_FOUND, GitHubAccess

_WRITE_ISSUES = {"issues": "write", "metadata": "read"}
_PER_PAGE = 100
#: GitHub's statuses for a deleted issue, and for a repository without issues.
_GONE = 410


class GitHubIssues:
    """The adapter's part for issues."""

    _access: GitHubAccess

    def open_issue(self, repository: str, title: str, text: str) -> int:
        def call(repo: Repository) -> int:
            wanted = {"title": title, "body": text}
            _, answer = repo.requester.requestJsonAndCheck("POST", f"{repo.url}/issues", input=wanted)
            return int(answer["number"])

        return self._access.call(repository, _WRITE_ISSUES, call)

    def write_issue(self, repository: str, issue: int, text: str, *, is_open: bool) -> None:
        def call(repo: Repository) -> None:
            wanted = {"body": text, "state": "open" if is_open else "closed"}
            try:
                repo.requester.requestJsonAndCheck("PATCH", f"{repo.url}/issues/{issue}", input=wanted)
            except GithubException as error:
                if error.status not in {NOT_FOUND, _GONE}:
                    raise
                raise NotFound("issue", str(issue)) from None

        self._access.call(repository, _WRITE_ISSUES, call)

    def our_issues(self, repository: str, marker: str) -> Sequence[int]:
        def call(repo: Repository) -> Sequence[int]:
            ours = f"{self._access.app.slug}[bot]"
            found: list[int] = []
            for page in itertools.count(1):
                query = f"state=open&creator={ours}&per_page={_PER_PAGE}&page={page}"
                _, answer = repo.requester.requestJsonAndCheck("GET", f"{repo.url}/issues?{query}")
                found += [each["number"] for each in answer if _is_marked(each, ours, marker)]
                if len(answer) < _PER_PAGE:
                    break
            return sorted(found)

        return self._access.call(repository, _WRITE_ISSUES, call)


def _is_marked(issue: Mapping[str, Any], ours: str, marker: str) -> bool:
    """Tell whether our App opened it, with this marker. Pull requests are issues there, too."""
    is_ours = (issue["user"] or {}).get("login") == ours and "pull_request" not in issue
    return is_ours and (issue["body"] or "").startswith(marker)
