"""Find the roots that a pull request removes: their resources remain, unless they are moved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from tidegate.changes.rules.change_set import Member
from tidegate.config.rules.plan_options import with_options
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.discovery.discover_roots import Discovery
from tidegate.discovery.repository_source import Granted
from tidegate.discovery.root_index import Deployable
from tidegate.ports import PushedTrees
from tidegate.roots.rules.discovery import directory_of, is_module_file
from tidegate.roots.rules.module_file import read_module_file

_GONE = "The branch removes this root."
#: The state is only read; its providers are not called.
_READING = ("-refresh=false",)


def gone_roots(
    trees: PushedTrees, found: Discovery, granted: Granted, known: Iterable[Deployable]
) -> tuple[Deployable, ...]:
    """Return the default branch's roots whose directories are empty in ``found``.

    A root is not gone if one of ``known`` has its name in its stack: the merge deploys it from another directory.
    """
    places = found.gone.difference(found.index.modules.places) if found.gone else ()
    gone = [root for root in granted.roots if root.dir in places]
    if not gone:
        return ()
    moved, there = _moved(trees, {root.dir for root in gone}), {each.member.key for each in known}
    return tuple(
        Deployable(
            Member(each.root, each.stack, _why(moved.get(each.root.dir))),
            replace(each, review_rule=ReviewRule(), run=with_options(each.run, _READING)),
        )
        for each in granted(granted.configuration, gone).roots
        if each.key not in there
    )


def _why(place: str | None) -> str:
    if place is None:
        return _GONE
    return (
        f"{_GONE} Its backend configuration is now in {place!a}. If you moved the root there, the state moves with it."
    )


def _moved(trees: PushedTrees, places: Collection[str]) -> Mapping[str, str]:
    """Return where directories seem to have moved: where a file with their backend is added unchanged."""
    files = [change for change in trees.changes if is_module_file(change.path)]
    deleted = {each.path: each.before for each in files if each.before and directory_of(each.path) in places}
    contents = trees.read(set(deleted.values()))
    backends = {
        blob: directory_of(path) for path, blob in deleted.items() if read_module_file(path, contents[blob]).keeps_state
    }
    added = [each for each in files if each.before is None and each.after in backends]
    return {backends[each.after]: directory_of(each.path) for each in added if each.after}
