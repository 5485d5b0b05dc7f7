"""Which roots can be planned for a pull request, automatically and on request."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from tidegate.config.model.file import FILE
from tidegate.config.resolution import configure
from tidegate.discovery.discover_roots import AllRoots, Discovery, Reading, all_roots, discover_roots
from tidegate.discovery.repository_source import Granted, merge_commits, reading_of
from tidegate.discovery.root_index import Deployable
from tidegate.ports import Ports, PushedTrees
from tidegate.pull_requests.gone_roots import gone_roots
from tidegate.pull_requests.hidden_roots import hidden_roots
from tidegate.roots.rules.plan_request import PlanRequest
from tidegate.rules.errors import InvalidConfiguration
from tidegate.vcs.rules.pull_request import PullRequestSpec

_PREVIEW = "The branch adds the first tidegate.yaml. This plan follows it; the merge does not deploy the root."
_CONFLICT = "it conflicts with the base branch's"
_MERGE = "Merge the base branch into this branch, resolve the conflict and push"


@dataclass(frozen=True, slots=True)
class Plannable:
    """What can be planned. ``found`` is what a merge would deploy, ``extra`` what a request may also mean.

    ``extra`` are roots that the pull request changes and no merge deploys, and those that the request names.
    ``unknown`` are requested names that no root has, ``names`` the existing ones if one is unknown; ``problems`` are
    sentences about other requested names. ``hidden`` are changed roots that its own configuration excludes: they are
    planned automatically all the same, and so is ``preview``, which no merge deploys. ``gone`` are removed roots, and
    ``fork_sha`` is as for layers.
    """

    found: Discovery
    extra: tuple[Deployable, ...] = ()
    unknown: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    hidden: tuple[Deployable, ...] = ()
    preview: tuple[Deployable, ...] = ()
    fork_sha: str = ""
    gone: tuple[Deployable, ...] = ()

    @property
    def members(self) -> tuple[Deployable, ...]:
        """All of them, in the order in which a merge would deploy them; those that it does not deploy come last."""
        return (*self.found.members, *self.extra, *self.hidden, *self.preview, *self.gone)

    @property
    def by_itself(self) -> tuple[Deployable, ...]:
        """What is planned automatically."""
        return (*self.found.members, *self.hidden, *self.preview, *self.gone)

    def chosen(self, request: PlanRequest) -> tuple[Deployable, ...]:
        """Return what a request means."""
        return tuple(each for each in self.members if request.chooses(each.member.root.name, each.configured.tagged))


@dataclass(frozen=True, slots=True)
class PlannableFinder:
    """Finds what can be planned: what the merge would deploy, as the default branch's configuration allows."""

    ports: Ports
    granted: Granted

    def find(self, spec: PullRequestSpec, common: str, request: PlanRequest | None) -> Plannable:
        """Return what can be planned of a head. ``common`` is the merge base.

        Raise NotFound if the VCS provider lacks these commits, InvalidConfiguration and CyclicChange.
        """
        with merge_commits(self.ports, spec.repository, spec.base_sha, spec.head_sha, common) as merged:
            if FILE in merged.conflicts:
                raise InvalidConfiguration(FILE, 1, _CONFLICT, _MERGE)
            # Found as for a push to the base branch.
            configuring = partial(configure, branch=spec.base, dest_branch=spec.base)
            reading = reading_of(self.ports, spec.repository, configuring)
            found = discover_roots(merged.trees, reading)
            plannable = _with_extra(merged.trees, reading, found, request) if request else Plannable(found)
            plannable = replace(plannable, preview=_preview(merged.trees, reading, plannable.members))
            plannable = _granted(plannable, self.granted)
            hidden = hidden_roots(merged.trees, spec.repository, self.granted, plannable.members)
            plannable = replace(plannable, hidden=hidden)
            return replace(plannable, gone=gone_roots(merged.trees, found, self.granted, plannable.members))


def _granted(plannable: Plannable, granted: Granted) -> Plannable:
    """Return what the default branch's configuration allows; what it refuses stays refused."""
    members, own = plannable.members, plannable.found.configuration
    configured = granted.propose(own, dict.fromkeys(each.member.root for each in members))
    by_key = {each.key: each for each in configured.roots}

    def judged(some: Iterable[Deployable]) -> tuple[Deployable, ...]:
        return tuple(
            replace(each, configured=replace(by_key[each.member.key], root=each.member.root))
            for each in some
            if each.member.key in by_key
        )

    names = dict.fromkeys(each.member.root.name for each in members if each.member.key not in by_key)
    refused = [f"{name}: {configured.refused[name]}" for name in names]
    found = plannable.found
    return replace(
        plannable,
        found=replace(found, members=judged(found.members), refused=(*found.refused, *refused)),
        extra=judged(plannable.extra),
        preview=judged(plannable.preview),
    )


def _preview(trees: PushedTrees, reading: Reading, known: Iterable[Deployable]) -> tuple[Deployable, ...]:
    """Return all other roots if the file is the repository's first: its author sees the result."""
    if all(change.path != FILE or change.before is not None for change in trees.changes):
        return ()
    everything = all_roots(trees, reading)
    there = {each.member.key for each in known}
    others = (each for each in everything.named(everything.names) if each.member.key not in there)
    shown = (each for each in others if each.configured.autoplan)
    return tuple(replace(each, member=replace(each.member, why=_PREVIEW)) for each in shown)


def _with_extra(trees: PushedTrees, reading: Reading, found: Discovery, request: PlanRequest) -> Plannable:
    """Search the same commit again for roots that are planned only on request; a named root needs a search of all
    roots.
    """
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
