"""What GitLab itself says of what its webhooks told: their token shows only that somebody knows it."""

from __future__ import annotations

from typing import Any

from tidegate.adapters.gitlab.access import PER_PAGE, moment, project
from tidegate.adapters.gitlab.comments import notes
from tidegate.adapters.gitlab.commits import GitLabCommits
from tidegate.ports.witness import Pushed, WrittenComment


class GitLabWitness(GitLabCommits):
    """The port ``ForgeWitness``. An installation is a project's number: one path may have had several projects."""

    def written_comment(
        self, installation: int, repository: str, pull_request: int, comment: int
    ) -> WrittenComment | None:
        found = self._access.find(f"{notes(repository, pull_request)}/{comment}")
        if found is None or found["system"] or found["project_id"] != installation:
            return None
        author = (found["author"] or {}).get("username", "")
        return WrittenComment(author, found["body"], moment(found["created_at"]), moment(found["updated_at"]))

    def pushed(self, installation: int, repository: str, branch: str, commit: str) -> Pushed | None:
        known = self._access.find(project(repository)) or {}
        names = known.get("id"), known.get("path_with_namespace"), known.get("default_branch")
        if names != (installation, repository, branch) or self.merge_base(repository, commit, branch) != commit:
            return None
        return self._push(repository, branch, commit)

    def _push(self, repository: str, branch: str, commit: str) -> Pushed:
        """Return the push that brought it, if it is among the newest.

        Of one that moved many branches at once, GitLab keeps only how many.
        """
        newest = self._access.call("GET", f"{project(repository)}/events", {"action": "pushed", "per_page": PER_PAGE})
        for event in newest:
            push: dict[str, Any] = event.get("push_data") or {}
            if (push.get("ref_type"), push.get("ref"), push.get("commit_to")) == ("branch", branch, commit):
                return Pushed(str(event["author_username"]), push.get("commit_from"))
        return Pushed(None)
