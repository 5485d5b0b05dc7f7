"""Lists of deployments, grouped by change and stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from tidegate.deploys.queue.get_queue import RootView
from tidegate.deploys.rules.overview import urgency
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.rules.graphs import tiers

#: A root that nothing was deployed to for so long, and where nothing waits, is folded away: it may be gone.
RESTING = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class Group:
    """Deployments that stand together. ``change`` is empty for those that are alone in the list with theirs."""

    change: str
    stack: str
    deployments: tuple[DeploymentSummary, ...]


def grouped(deployments: Sequence[DeploymentSummary]) -> list[Group]:
    """Return a list, newest first, in groups: one for each stack where several of one change follow each other.

    The stacks of a change stand in the order in which they are deployed, as do the deployments in them.
    """
    found: list[Group] = []
    for change, run in groupby(deployments, key=lambda one: one.change.id):
        together = list(run)
        found.extend(_by_stack(change, together) if change and len(together) > 1 else [_alone(together)])
    return found


def _alone(deployments: Sequence[DeploymentSummary]) -> Group:
    return Group("", "", tuple(deployments))


def _by_stack(change: str, deployments: Sequence[DeploymentSummary]) -> Iterable[Group]:
    stacks: dict[str, list[DeploymentSummary]] = {}
    for one in sorted(deployments, key=lambda one: (one.change.layer, one.root.name, one.request.at)):
        stacks.setdefault(one.stack, []).append(one)
    tier = tiers({name: _awaited(name, its) & stacks.keys() for name, its in stacks.items()})
    return [Group(change, name, tuple(stacks[name])) for name in sorted(stacks, key=lambda name: (tier[name], name))]


def _awaited(stack: str, deployments: Iterable[DeploymentSummary]) -> set[str]:
    """Return the stacks that those of one stack wait for."""
    return {name for one in deployments for name in (*one.change.waits.plan_after, *one.change.waits.apply_after)} - {
        stack
    }


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Deployments of one change, or one of none, newest first. ``state`` is the one that needs a person most."""

    change: str
    state: State
    deployments: tuple[DeploymentSummary, ...]

    @property
    def stacks(self) -> dict[str, int]:
        """How many deployments are in each stack, by the stack's name."""
        return dict(sorted(Counter(one.stack for one in self.deployments).items()))

    @property
    def states(self) -> tuple[tuple[State, int], ...]:
        """How many deployments are in each state, the most urgent first."""
        counted = Counter(one.state for one in self.deployments)
        return tuple(sorted(counted.items(), key=lambda each: urgency(each[0])))


def by_change(deployments: Sequence[DeploymentSummary], *, is_cut: bool = False) -> list[ChangeRow]:
    """Return a list, newest first, with one row for each change.

    ``is_cut`` tells that older deployments follow: the last change of several is left out then, as it may lack some.
    """
    found: dict[str, list[DeploymentSummary]] = {}
    for one in deployments:
        found.setdefault(one.change.id or one.id, []).append(one)
    if is_cut and len(found) > 1:
        found.popitem()
    return [
        ChangeRow(its[0].change.id, min((one.state for one in its), key=urgency), tuple(its)) for its in found.values()
    ]


def is_resting(view: RootView, now: datetime) -> bool:
    """Tell whether nothing happens to a root any more: not for long, and nothing runs, waits, or is locked."""
    if view.running or view.head.length or view.head.lock or view.last is None:
        return False
    at = view.last.changed_at or view.last.request.at
    return at < now - RESTING
