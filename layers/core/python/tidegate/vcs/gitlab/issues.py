"""Issues of a project on GitLab: the port ``ForgeIssues``."""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.gitlab.access import NOT_FOUND, GitLabAccess, project
from tidegate.vcs.gitlab.comments import written


class GitLabIssues:
    """The adapter's part for issues."""

    _access: GitLabAccess

    def open_issue(self, repository: str, title: str, text: str) -> int:
        wanted = {"title": title, "description": written(text)}
        return int(self._access.call("POST", _issues(repository), body=wanted)["iid"])

    def write_issue(self, repository: str, issue: int, text: str, *, is_open: bool) -> None:
        wanted = {"description": written(text), "state_event": "reopen" if is_open else "close"}
        try:
            self._access.call("PUT", f"{_issues(repository)}/{issue}", body=wanted)
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            raise NotFound("issue", str(issue)) from None

    def our_issues(self, repository: str, marker: str) -> Sequence[int]:
        ours = self._access.me.id
        every = self._access.pages(
            _issues(repository), state="opened", author_id=ours, order_by="created_at", sort="asc"
        )
        return [
            each["iid"]
            for each in every
            if each["author"]["id"] == ours and (each["description"] or "").startswith(marker)
        ]


def _issues(repository: str) -> str:
    return f"{project(repository)}/issues"
