"""Repositories' summaries: how many roots, what runs and waits, and what needs a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.needs import Need, needs
from tidegate.deploys.rules.state import State
from tidegate.ports import RepositoryNames
from tidegate.web.grouping import RESTING
from tidegate.web.inbox import OpenWork


@dataclass(frozen=True, slots=True)
class Needing:
    """A root that needs a person, and the deployment for which it does; empty for its lock."""

    root: str
    deployment: str = ""


@dataclass(frozen=True, slots=True)
class Glance:
    """How many roots a repository has, how many deployments run and wait, and the roots by what they need."""

    roots: int
    running: int
    waiting: int
    needs: Mapping[Need, tuple[Needing, ...]]


def glances(names: Iterable[RepositoryNames], work: OpenWork, now: datetime) -> dict[str, Glance]:
    """Return the summary of each repository that has roots or open work, by its name.

    What failed half a year ago needs nobody.
    """
    failed = [each for each in work.failed if now - (each.changed_at or each.request.at) < RESTING]
    found: dict[str, dict[Need, list[Needing]]] = {}
    for one in sorted((*work.needing, *failed), key=lambda one: one.root.name):
        for need in needs(None if one in failed else one.state, one.state, locked=False):
            found.setdefault(one.repository, {}).setdefault(need, []).append(Needing(one.root.name, one.id))
    for each in (each for each in work.locked if each.root):
        found.setdefault(each.repository, {}).setdefault(Need.LOCKED, []).append(Needing(each.root))
    roots = {each.repository: len(each.roots) for each in names}
    queued = [one for one in work.waiting if one.state is State.QUEUED]
    return {
        name: Glance(
            roots.get(name, 0),
            sum(one.repository == name for one in work.running),
            sum(one.repository == name for one in queued),
            {need: tuple(found[name][need]) for need in Need if need in found.get(name, {})},
        )
        for name in {*roots, *found, *(one.repository for one in (*work.running, *queued))}
    }
