"""Verify GitLab's webhooks through its API: a webhook's token proves only that the sender knows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tidegate.ports.webhook_verifier import Pushed, WrittenComment
from tidegate.vcs.gitlab.access import PER_PAGE, moment
from tidegate.vcs.gitlab.access import project as path_of
from tidegate.vcs.gitlab.comments import notes
from tidegate.vcs.gitlab.commits import GitLabCommits


class GitLabWebhookVerifier(GitLabCommits):
    """The port ``WebhookVerifier``. Of several projects at one path, only the one in the webhook counts."""

    def written_comment(self, project: int, repository: str, pull_request: int, comment: int) -> WrittenComment | None:
        found = self._access.find(f"{notes(repository, pull_request)}/{comment}")
        if found is None or found["system"] or found["project_id"] != project:
            return None
        author = (found["author"] or {}).get("username", "")
        return WrittenComment(author, found["body"], moment(found["created_at"]), moment(found["updated_at"]))

    def pushed(self, project: int, repository: str, branch: str, commit: str) -> Pushed | None:
        known = self._access.find(path_of(repository)) or {}
        names = known.get("id"), known.get("path_with_namespace"), known.get("default_branch")
        if names != (project, repository, branch) or self.merge_base(repository, commit, branch) != commit:
            return None
        return self._push(repository, branch, commit)

    def pusher(self, project: int, repository: str, commit: str) -> str | None:
        known = self._access.find(path_of(repository)) or {}
        if (known.get("id"), known.get("path_with_namespace")) != (project, repository):
            return None
        return next((str(event["author_username"]) for event, _ in self._pushes(repository, commit)), None)

    def _push(self, repository: str, branch: str, commit: str) -> Pushed:
        """Return the push that brought a commit to a branch, if it is among the newest."""
        for event, push in self._pushes(repository, commit):
            if push.get("ref") == branch:
                return Pushed(str(event["author_username"]), push.get("commit_from"))
        return Pushed(None)

    def _pushes(self, repository: str, commit: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield the newest pushes that brought a commit to a branch.

        For a push of many branches, GitLab stores only their number.
        """
        newest = self._access.call("GET", f"{path_of(repository)}/events", {"action": "pushed", "per_page": PER_PAGE})
        for event in newest:
            push: dict[str, Any] = event.get("push_data") or {}
            if (push.get("ref_type"), push.get("commit_to")) == ("branch", commit):
                yield event, push
