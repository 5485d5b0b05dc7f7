"""Read a change: its deployments, and the dependencies of one of them. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tidegate.changes.rules.wave import Wave, WaveRules, is_held_by_failures
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.overview import DependencyMember, awaited
from tidegate.deploys.rules.state import DONE, is_final
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.ports import Enrolled, Ports
from tidegate.rules.errors import NotFound

#: Members that are read, and of those that a newer revision replaced what replaced them: eleven reads.
SHOWN_MEMBERS, SHOWN_REPLACEMENTS = 1000, 100
#: Members that are read to find those that one waits for: four reads.
READ_AWAITED = 400


@dataclass(frozen=True, slots=True)
class WaveView:
    """How a stack of a change is rolled out, and whether failures hold it back."""

    rules: WaveRules
    wave: Wave

    @property
    def is_held(self) -> bool:
        return self.wave.stopped is None and is_held_by_failures(self.rules, self.wave)


@dataclass(frozen=True, slots=True)
class ChangeView:
    """The newest deployment of each root in each stack of a change; ``left_out`` more are not shown.

    ``replacements`` are, by the id of a member that was not applied itself, the applied deployment of a newer revision
    that contains it. ``waves`` are of stacks that have rules for their rollout, by name.
    """

    id: str
    deployments: tuple[Deployment, ...]
    left_out: int = 0
    replacements: Mapping[str, Deployment] = field(default_factory=dict)
    waves: Mapping[str, WaveView] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return all(is_final(one.state) for one in self.deployments)


def get_change(ports: Ports, change: str) -> ChangeView:
    """Return a change as it is now. Raise NotFound for an unknown id, or if none of its deployments is enqueued yet."""
    enrolled = ports.change_sets.deployments(change)
    found = _records(ports, enrolled)
    if not found:
        raise NotFound("change", change)
    left_out = max(0, len(enrolled) - SHOWN_MEMBERS)
    return ChangeView(change, found, left_out, _replacements(ports, found), _waves(ports, change, found))


def replacement_of(ports: Ports, deployment: Deployment) -> Deployment | None:
    """Return the applied deployment of a newer revision that contains this one; None if none is known."""
    return _replacements(ports, [deployment]).get(deployment.id) if deployment.lineage.contained_by else None


def replaced_by(ports: Ports, listed: Iterable[DeploymentSummary]) -> dict[str, Deployment]:
    """Return, by id, the deployments that a newer revision replaced: in one read, or none if nothing needs it."""
    ended = {one.id for one in listed if is_final(one.state) and one.state not in DONE}
    known = ports.deployments.many(ended) if ended else {}
    return {name: one for name, one in known.items() if one.lineage.contained_by is not None}


def awaited_by(ports: Ports, deployment: Deployment) -> tuple[DependencyMember, ...]:
    """Return the pending dependencies of a deployment in its change, as far as they are read."""
    waits = deployment.change.waits
    stacks = {*waits.plan_after, *waits.apply_after, *((deployment.stack,) if waits.roots else ())}
    if not deployment.change.id or not stacks or is_final(deployment.state):
        return ()
    enrolled = ports.change_sets.deployments(deployment.change.id)
    members = [one for one in enrolled if one.stack in stacks][:READ_AWAITED]
    return awaited(deployment, _records(ports, members))


def _waves(ports: Ports, change: str, members: Iterable[Deployment]) -> dict[str, WaveView]:
    rules = {one.stack: one.change.wave for one in members if one.change.has_wave}
    known = {wave.stack: wave for wave in ports.change_sets.waves(change)} if rules else {}
    return {stack: WaveView(rules[stack], known.get(stack, Wave(change, stack))) for stack in rules}


def _replacements(ports: Ports, members: Iterable[Deployment]) -> dict[str, Deployment]:
    """Return the replacements of members, in one read, usually none: those of the first, if there are very many."""
    newer = {one.id: one.lineage.contained_by for one in members if one.lineage.contained_by is not None}
    known = ports.deployments.many(list(dict.fromkeys(newer.values()))[:SHOWN_REPLACEMENTS])
    return {replaced: known[identifier] for replaced, identifier in newer.items() if identifier in known}


def _records(ports: Ports, enrolled: Iterable[Enrolled]) -> tuple[Deployment, ...]:
    wanted = [one.deployment for one in enrolled][:SHOWN_MEMBERS]
    known = ports.deployments.many(wanted)
    return tuple(known[one] for one in wanted if one in known)
