"""Roots and stacks of a repository as a grid: what stands where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.config.rules.drift import DriftFinding
from tidegate.deploys.queue.get_queue import RootView
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Deployed
from tidegate.rules.graphs import tiers

#: Stacks that are columns: with more of them, each root lists its own.
MOST_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class GridCell:
    """A root in a stack: the deployment in flight or else the last one, what is deployed, and drift."""

    stack: str
    deployment: Deployment | None
    deployed: Deployed | None
    drift: DriftFinding | None


@dataclass(frozen=True, slots=True)
class GridRow:
    """A root, and what it is in each of its stacks."""

    view: RootView
    cells: tuple[GridCell, ...]

    def cell(self, stack: str) -> GridCell | None:
        """Return what it is in a stack, None if it is not in it."""
        return next((each for each in self.cells if each.stack == stack), None)


@dataclass(frozen=True, slots=True)
class RootGrid:
    """Roots by name. ``columns`` are their stacks in the order in which they are deployed, empty if there are many."""

    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]


def root_grid(views: Sequence[RootView], drifted: Iterable[DriftFinding]) -> RootGrid:
    """Return the grid of some roots, given what was found to have drifted in their repository."""
    drift = {each.key: each for each in drifted}
    waits: dict[str, set[str]] = {stack: set() for view in views for stack in view.stacks}
    for one in (each for view in views for each in view.shown):
        waits[one.stack] |= {*one.change.waits.plan_after, *one.change.waits.apply_after} - {one.stack}
    tier = tiers({stack: first & waits.keys() for stack, first in waits.items()})
    order = sorted(waits, key=lambda stack: (tier[stack], stack))
    rows = tuple(
        GridRow(
            view, tuple(_cell(view, stack, drift.get((view.name, stack))) for stack in order if stack in view.stacks)
        )
        for view in views
    )
    return RootGrid(tuple(order) if len(order) <= MOST_COLUMNS else (), rows)


def _cell(view: RootView, stack: str, drift: DriftFinding | None) -> GridCell:
    known = [each for each in view.shown if each.stack == stack]
    runs = next((each for each in known if each is view.running), None)
    newest = max(known, key=lambda each: each.request.at, default=None)
    standing = next((each for each in view.head.by_stack if each.stack == stack), None)
    return GridCell(stack, runs or newest, standing.deployed if standing else view.head.deployed, drift)
