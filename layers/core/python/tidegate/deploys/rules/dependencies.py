"""Dependencies among the members of one change, computed for thousands of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tidegate.changes.rules.change_set import Key
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import Dependencies, Point, dependency, is_behind, lost, point_of, waits_for
from tidegate.deploys.rules.state import State


@dataclass(frozen=True, slots=True)
class _Same:
    """What deployments with the same dependencies have in common."""

    stack: str
    point: Point
    waits: object
    own: str


class DependencyInChange:
    """The newest deployments of a change, each by its root and stack: None if there is no record.

    Shared dependencies are evaluated once: all roots of a stack depend on the same stacks.
    """

    def __init__(self, members: Mapping[Key, Deployment | None]) -> None:
        self._members = members
        self._place = {key: place for place, key in enumerate(members)}
        self._stacks: dict[str, list[Key]] = {}
        self._in_line: dict[str, list[Deployment]] = {}
        for (root, stack), deployment in members.items():
            self._stacks.setdefault(stack, []).append((root, stack))
            if deployment is not None and deployment.state is State.QUEUED:
                self._in_line.setdefault(deployment.queue, []).append(deployment)
        self._found: dict[_Same, Dependencies] = {}

    def by(self, deployment: Deployment) -> Dependencies:
        """Return a member's dependencies at its gate, in the members' order, and which of them are lost."""
        waits, name = deployment.change.waits, deployment.root.name
        own = name if name in waits.roots or deployment.stack in {*waits.plan_after, *waits.apply_after} else ""
        same = _Same(deployment.stack, point_of(deployment), waits, own)
        if same not in self._found:
            self._found[same] = self._gathered(deployment)
        return self._found[same]

    def behind(self, deployment: Deployment) -> Deployment | None:
        """Return a member that is queued behind one that depends on it."""
        in_line = self._in_line.get(deployment.queue, ())
        return next((each for each in in_line if is_behind(deployment, each)), None)

    def _gathered(self, deployment: Deployment) -> Dependencies:
        keys = sorted(
            (key for key in set(self._near(deployment)) if waits_for(deployment, *key)), key=self._place.__getitem__
        )
        found = [dependency(*key, self._members[key]) for key in keys]
        known: Collection[Key] = {(deployment.root.name, deployment.stack), *keys}
        return Dependencies((*found, *lost(deployment, known)))

    def _near(self, deployment: Deployment) -> Iterator[Key]:
        """Return all members that a deployment may depend on, and few others."""
        waits = deployment.change.waits
        for stack in {*waits.plan_after, *waits.apply_after}:
            yield from self._stacks.get(stack, ())
        yield from (key for root in waits.roots if (key := (root, deployment.stack)) in self._members)
