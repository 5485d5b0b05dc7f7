"""Find the pull requests that brought the commits of pushes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidegate.ports import Ports
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.pull_request import SeenPullRequest
from tidegate.vcs.rules.push import Pushed

#: Commits whose pull requests are requested, with one call each: a merge needs one or two, a rebase one for each
#: commit.
_MOST_ASKED = 50


@dataclass(slots=True)
class MergedSearch:
    """Searches the pull requests that were merged into the branch of pushes.

    ``without`` are the commits without a pull request; ``complete`` tells whether all commits are known and were
    searched.
    """

    ports: Ports
    repository: str
    without: list[str] = field(default_factory=list)
    complete: bool = True
    _known: set[int] = field(default_factory=set)
    _asked: int = 0

    def look(self, push: Pushed) -> Sequence[SeenPullRequest]:
        """Return the pull requests that were merged with a push, without those of earlier pushes.

        Commits that a found pull request contains are not searched. Raise NotFound, ForgeUnavailable and ForgeRefused.
        """
        return self.look_through(push, self.commits(push.before, push.after))

    def look_through(self, push: Pushed, commits: Sequence[str] | None) -> Sequence[SeenPullRequest]:
        """Return ``look`` for a push of these commits, None if not all are known. Raise as it does."""
        self.complete &= commits is not None
        left = dict.fromkeys((push.after, *reversed(commits or ())))
        merged: list[SeenPullRequest] = []
        while left and self._asked < _MOST_ASKED:
            sha = next(iter(left))
            del left[sha]
            new = self._came_with(push.branch, sha)
            for each in new:
                for reviewed in (self.commits(push.before, each.spec.head_sha) or ()) if left else ():
                    left.pop(reviewed, None)
            merged += new
        self.complete &= not left
        return merged

    def commits(self, before: str, after: str) -> Sequence[str] | None:
        """Return the commits after another one, oldest first; None if not all are known.

        Raise ForgeUnavailable and ForgeRefused.
        """
        if before == after:
            return ()
        if not before.strip("0"):
            return None
        try:
            return self.ports.commits.change(self.repository, before, after).commits
        except NotFound:
            return None

    def _came_with(self, branch: str, sha: str) -> Sequence[SeenPullRequest]:
        """Return the pull requests of a commit, without known ones."""
        self._asked += 1
        every = self.ports.pull_request_reader.pull_requests_of(self.repository, sha)
        here = [each for each in every if each.merged and each.spec.base == branch]
        if not here:
            self.without.append(sha)
        new = [each for each in here if each.spec.number not in self._known]
        self._known |= {each.spec.number for each in new}
        return new
