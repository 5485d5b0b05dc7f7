"""Look whether the merges of a push are what git makes of branch and head: nobody reviewed what else they hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate.domain.deploys.origin import Pushed
from tidegate.domain.errors import NotFound
from tidegate.domain.pull_requests.record import SeenPullRequest
from tidegate.ports import Forge, PushedTrees, SourceHistory

#: Commits whose pull requests are asked for. Of a push with more of them, not all is known when it is applied.
_MOST_ASKED = 50


@dataclass(frozen=True, slots=True)
class MergeCheck:
    """Merges again what a push merged. It is asked where a root requires something of the pull requests."""

    forge: Forge
    history: SourceHistory

    def checked(self, where: tuple[int, str], push: Pushed) -> Pushed:
        """Return a push with the commits that merged pull requests and hold something else, or may.

        Raise ForgeUnavailable and ForgeRefused.
        """
        commits = self._commits(where, push.before, push.after)
        altered, before = [], push.before
        for merge, head in self._merges(where, push, commits).items():
            if not self._is_as_made(where, before, head, merge):
                altered.append(merge)
            before = merge
        return replace(push, altered=tuple(altered))

    def _merges(self, where: tuple[int, str], push: Pushed, commits: Sequence[str]) -> Mapping[str, str]:
        """Return the commits by which pull requests were merged, in their order, each with the head."""
        found: dict[str, str] = {}
        left = dict.fromkeys(reversed(commits))
        for _ in range(_MOST_ASKED):
            sha = next(iter(left), None)
            if sha is None:
                break
            del left[sha]
            for each in self._came_with(where, push.branch, sha, found):
                found[each.merge_sha] = each.spec.head_sha
                for reviewed in self._commits(where, push.before, each.spec.head_sha):
                    left.pop(reviewed, None)
        return {sha: found[sha] for sha in commits if sha in found}

    def _came_with(
        self, where: tuple[int, str], branch: str, sha: str, known: Collection[str]
    ) -> Iterator[SeenPullRequest]:
        for each in self.forge.pull_requests_of(*where, sha):
            if each.merged and each.spec.base == branch and each.merge_sha not in known:
                yield each

    def _commits(self, where: tuple[int, str], before: str, after: str) -> Sequence[str]:
        """Return the commits that come after another, as far as the forge tells: of more, not all is known anyway."""
        try:
            return self.forge.change(*where, before, after).commits or () if before.strip("0") else ()
        except NotFound:
            return ()

    def _is_as_made(self, where: tuple[int, str], before: str, head: str, merge: str) -> bool:
        """Tell whether a commit has the files that the merge of a head has without anybody's doing."""
        if head == merge:
            return True
        url, token = self.forge.clone_url(where[1]), self.forge.clone_token(*where)
        try:
            common = self.forge.change(*where, before, head).after
            with self.history.merge(url, token, before, head, common) as made:
                if made.conflicts:
                    return False
                wanted = _changes(made.trees)
            with self.history.fetch(url, token, before, merge) as trees:
                return _changes(trees) == wanted
        except NotFound:
            return False


def _changes(trees: PushedTrees) -> set[tuple[str, str | None]]:
    return {(each.path, each.after) for each in trees.changes}
