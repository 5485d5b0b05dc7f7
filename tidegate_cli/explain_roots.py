"""Why directories of a checkout are roots, or are none: for ``tidegate explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidegate.config.model.file import FILE
from tidegate.roots.rules.discovery import Standing, Verdict

if TYPE_CHECKING:
    from tidegate.config.loaded import LoadedConfiguration
    from tidegate.discovery.find_roots import CommitModules, FoundRoots

_ADVICE = "If it is a root, set 'root: true' for it under dirs in tidegate.yaml."


@dataclass(frozen=True, slots=True)
class Reasons:
    """Sentences: ``roots`` by the names of roots, ``others`` by the directories of modules that are none."""

    roots: Mapping[str, str]
    others: Mapping[str, str]


def reasons(commit: CommitModules, loaded: LoadedConfiguration, found: FoundRoots) -> Reasons:
    """Return why each root of a checkout is one, and why each other directory with a module is none."""
    from tidegate.discovery.find_roots import FoundByThemselves

    rule, verdicts = FoundByThemselves(loaded), commit.verdicts
    named = {root.name: f"{FILE} names it." for root in found.declared}
    for root in found.discovered:
        section = rule.section(root.dir)
        said = bool(section and section.root)
        named[root.name] = f"{FILE} sets root: true." if said else verdicts[root.dir].why
    places = {root.dir for root in found.roots}
    others = {
        place: found.misnamed.get(place) or _why_none(rule.section(place), verdict, listed=rule.may_be(place))
        for place, verdict in sorted(verdicts.items())
        if place not in places
    }
    return Reasons(named, others)


def _why_none(section: object, verdict: Verdict, *, listed: bool) -> str:
    if verdict.standing is Standing.USED:
        return verdict.why
    if not listed:
        return f"{FILE} sets root: false." if section else f"No key of dirs or roots in {FILE} matches it."
    return f"{verdict.why} {_ADVICE}"
