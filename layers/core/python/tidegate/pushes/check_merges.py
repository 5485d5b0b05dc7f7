"""Check that a push's merge commits equal git's own merge: further changes were not reviewed."""

from __future__ import annotations

from dataclasses import replace

from tidegate.discovery.repository_source import fetch_commit, merge_commits
from tidegate.gates.find_merged import MergedSearch
from tidegate.ports import Ports, PushedTrees
from tidegate.rules.errors import NotFound
from tidegate.vcs.rules.push import Pushed


def check_merges(ports: Ports, repository: str, push: Pushed) -> Pushed:
    """Repeat the merges of a push: return it with the merge commits that contain further changes.

    Unverifiable ones are included. It is called if a root has requirements for pull requests. Raise NotFound,
    ForgeUnavailable and ForgeRefused.
    """
    search = MergedSearch(ports, repository)
    commits = search.commits(push.before, push.after)
    if not commits:
        return replace(push, altered=())
    merged = search.look_through(push, commits)
    heads = {each.merge_sha: each.spec.head_sha for each in reversed(merged)}
    altered, before = [], push.before
    for merge in (sha for sha in commits if sha in heads):
        if not _is_as_made(ports, repository, before, heads[merge], merge):
            altered.append(merge)
        before = merge
    return replace(push, altered=tuple(altered))


def _is_as_made(ports: Ports, repository: str, before: str, head: str, merge: str) -> bool:
    """Tell whether a commit has exactly the files of an automatic merge of a head."""
    if head == merge:
        return True
    try:
        common = ports.commits.change(repository, before, head).after
        with merge_commits(ports, repository, before, head, common) as made:
            if made.conflicts:
                return False
            wanted = _changes(made.trees)
        with fetch_commit(ports, repository, merge, before) as trees:
            return _changes(trees) == wanted
    except NotFound:
        return False


def _changes(trees: PushedTrees) -> set[tuple[str, str | None]]:
    return {(each.path, each.after) for each in trees.changes}
