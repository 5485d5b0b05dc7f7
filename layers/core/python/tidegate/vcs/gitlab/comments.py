"""Notes on merge requests on GitLab."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tidegate.rules.errors import ForgeRefused, NotFound
from tidegate.vcs.gitlab.access import NOT_FOUND, GitLabAccess, project

#: GitLab's names of reactions, by GitHub's; the others are the same.
_EMOJI = {"+1": "thumbsup", "-1": "thumbsdown", "hooray": "tada", "laugh": "laughing"}
#: The beginning of a quick action, such as ``/merge``, which Tidegate's user would execute, and how to escape it.
_QUICK_ACTION = re.compile(r"^[^\S\n]*/(?=\S)", re.MULTILINE)
_INVISIBLE = "\u200b"
_TAKEN = "already been taken"


class GitLabComments:
    """The port ``Comments``."""

    _access: GitLabAccess

    def comment(self, repository: str, number: int, text: str) -> int:
        return int(self._access.call("POST", notes(repository, number), body={"body": written(text)})["id"])

    def update_comment(self, repository: str, number: int, comment: int, text: str) -> None:
        try:
            self._access.call("PUT", f"{notes(repository, number)}/{comment}", body={"body": written(text)})
        except ForgeRefused as error:
            if error.status != NOT_FOUND:
                raise
            raise NotFound("comment", str(comment)) from None

    def our_comments(self, repository: str, number: int, marker: str) -> Mapping[int, str]:
        ours = self._access.me.id
        every = self._access.pages(notes(repository, number), sort="asc", order_by="created_at")
        return {
            each["id"]: each["body"]
            for each in every
            if each["author"]["id"] == ours and each["body"].startswith(marker)
        }

    def react(self, repository: str, number: int, comment: int, reaction: str) -> None:
        """Put an emoji on a note; one that is there already is left alone."""
        path = f"{notes(repository, number)}/{comment}/award_emoji"
        try:
            self._access.call("POST", path, body={"name": _EMOJI.get(reaction, reaction)})
        except ForgeRefused as error:
            if _TAKEN not in str(error):
                raise


def written(text: str) -> str:
    """Return a text without quick actions for GitLab.

    A line that begins with a slash would be executed. An invisible character before the slash prevents that.
    """
    return _QUICK_ACTION.sub(f"{_INVISIBLE}/", text)


def notes(repository: str, number: int) -> str:
    """Return the path of a merge request's notes in the API."""
    return f"{project(repository)}/merge_requests/{number}/notes"
