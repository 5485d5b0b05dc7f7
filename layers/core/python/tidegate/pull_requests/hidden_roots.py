"""Find roots that a pull request changes, but excludes from planning by its own configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tidegate.config.model.file import FILE
from tidegate.discovery.find_roots import CommitModules
from tidegate.discovery.repository_source import Granted
from tidegate.discovery.root_index import Deployable, RootIndex, Selection
from tidegate.discovery.touched_roots import TouchedRoots
from tidegate.ports import PushedTrees

_HIDDEN = "Changed per the default branch's tidegate.yaml. Per the branch's own file, the merge does not deploy it."


def hidden_roots(
    trees: PushedTrees, repository: str, granted: Granted, known: Iterable[Deployable]
) -> tuple[Deployable, ...]:
    """Return changed roots by the default branch's configuration that are not ``known``, by directory and stack.

    Policies evaluate them all the same: a pull request's configuration must not bypass policies. Raise CyclicChange.
    """
    if granted.dest_branch == granted.main and all(change.path != FILE for change in trees.changes):
        return ()
    index = RootIndex(CommitModules(trees), repository, granted.configuration, granted)
    names = {(each.member.root.name, each.member.stack) for each in known}
    places = {(each.member.root.dir, each.member.root.workspace) for each in known}
    touched = [each for name in sorted(TouchedRoots(trees, index).names) for each in index.by_name.get(name, ())]
    hidden = [
        each
        for each in touched
        if each.autoplan and each.key not in names and (each.root.dir, each.root.workspace) not in places
    ]
    found = Selection(index.configured, hidden).deployables([each.key for each in hidden])
    return tuple(replace(each, member=replace(each.member, why=_HIDDEN)) for each in found)
