"""Which roots can be planned for a pull request: by themselves, and for those who ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidegate.domain.pull_requests.plan_request import PlanRequest
from tidegate.domain.pull_requests.record import PullRequestSpec
from tidegate.ports import PushedTrees
from tidegate.usecases.discovery.discover_roots import AllRoots, Discovery, Reading, all_roots, discover_roots
from tidegate.usecases.discovery.repository_source import Granted, RepositorySource
from tidegate.usecases.discovery.root_index import Deployable
from tidegate.usecases.pull_requests.hidden_roots import hidden_roots


@dataclass(frozen=True, slots=True)
class Plannable:
    """What can be planned. ``found`` is what a merge would deploy, ``extra`` what else a request may mean.

    ``extra`` are roots that the pull request changes and no merge deploys, and those that the request names.
    ``unknown`` are the names of the request that no root has, ``names`` those that there are if one is unknown;
    ``problems`` say in sentences what is wrong with others of these. ``hidden`` are roots that it changes, and keeps
    out by its own file: they are planned by themselves all the same. ``fork_sha`` is as layers have it.
    """

    found: Discovery
    extra: tuple[Deployable, ...] = ()
    unknown: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    hidden: tuple[Deployable, ...] = ()
    fork_sha: str = ""

    @property
    def members(self) -> tuple[Deployable, ...]:
        """All of them, in the order in which a merge would deploy them; what it does not deploy comes last."""
        return (*self.found.members, *self.extra, *self.hidden)

    def chosen(self, request: PlanRequest) -> tuple[Deployable, ...]:
        """Return what a request means."""
        return tuple(each for each in self.members if request.chooses(each.member.root.name, each.configured.tagged))


@dataclass(frozen=True, slots=True)
class PlannableFinder:
    """Finds what can be planned, as the default branch grants it."""

    source: RepositorySource
    granted: Granted

    def find(self, spec: PullRequestSpec, after: str, request: PlanRequest | None) -> Plannable:
        """Return what can be planned of a head. ``after`` is the commit that it comes after.

        Raise NotFound when the forge does not have these commits, InvalidConfiguration and CyclicChange.
        """
        with self.source.fetch(*spec.where, spec.head_sha, after) as trees:
            reading = self.source.reading(spec.repository, self.granted)
            found = discover_roots(trees, reading)
            plannable = _with_extra(trees, reading, found, request) if request else Plannable(found)
            return replace(plannable, hidden=hidden_roots(trees, spec.repository, self.granted, plannable.members))


def _with_extra(trees: PushedTrees, reading: Reading, found: Discovery, request: PlanRequest) -> Plannable:
    """Look at the same commit again for what only people ask for; what is named needs a look at all roots."""
    by_hand = discover_roots(trees, reading, by_hand=True) if found.kept else found
    plannable = Plannable(found, _besides(by_hand.members, found.members))
    missing = set(request.roots) - {each.member.root.name for each in (*found.members, *plannable.extra)}
    return _named(plannable, all_roots(trees, reading), sorted(missing)) if missing else plannable


def _named(plannable: Plannable, known: AllRoots, names: Sequence[str]) -> Plannable:
    unknown = tuple(name for name in names if name not in known.names)
    extra = (*plannable.extra, *known.named(names))
    return replace(
        plannable,
        extra=extra,
        unknown=unknown,
        names=known.names if unknown else (),
        problems=tuple(known.problems(names)),
    )


def _besides(members: Iterable[Deployable], others: Iterable[Deployable]) -> tuple[Deployable, ...]:
    keys = {each.member.key for each in others}
    return tuple(each for each in members if each.member.key not in keys)
