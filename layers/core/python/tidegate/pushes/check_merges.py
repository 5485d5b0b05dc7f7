"""Look whether the merges of a push are what git makes of branch and head: nobody reviewed what else they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.gates.find_merged import MergedSearch
from tidegate.ports import Forge, PushedTrees, SourceHistory
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.push import Pushed


@dataclass(frozen=True, slots=True)
class MergeCheck:
    """Merges again what a push merged. It is asked where a root requires something of the pull requests."""

    forge: Forge
    history: SourceHistory

    def checked(self, where: tuple[int, str], push: Pushed) -> Pushed:
        """Return a push with the commits that merged pull requests and hold something else, or may.

        Raise NotFound, ForgeUnavailable and ForgeRefused.
        """
        search = MergedSearch(self.forge, where)
        commits = search.commits(push.before, push.after)
        if not commits:
            return replace(push, altered=())
        merged = search.look_through(push, commits)
        heads = {each.merge_sha: each.spec.head_sha for each in reversed(merged)}
        altered, before = [], push.before
        for merge in (sha for sha in commits if sha in heads):
            if not self._is_as_made(where, before, heads[merge], merge):
                altered.append(merge)
            before = merge
        return replace(push, altered=tuple(altered))

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
