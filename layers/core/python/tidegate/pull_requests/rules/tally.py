"""Counts of a pull request's layers, their order by importance, and the order of stacks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.presentation import many
from tidegate.plans.rules.cost import total_text
from tidegate.plans.rules.counts import counts
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyVerdict
from tidegate.rules.graphs import tiers

_COUNTED = tuple(each.name for each in fields(PlannedChanges) if each.default == 0)
_WITHOUT_PLAN = (LayerState.FAILED, LayerState.REFUSED)


@dataclass(frozen=True, slots=True)
class Tally:
    """How many layers there are of each kind; ``gone`` are removed by the merge, ``left`` their remaining resources.

    ``changes`` is the sum of their plans, without addresses. ``failing`` are the names of the policy sets that fail,
    ``warning`` those that only warn. ``cost`` is the sum of what the plans cost, in words, empty where none says.
    """

    total: int
    failed: int
    refused: int
    unplanned: int
    changed: int
    unchanged: int
    changes: PlannedChanges
    failing: tuple[str, ...]
    warning: tuple[str, ...]
    gone: int = 0
    left: int = 0
    cost: str = ""

    def __str__(self) -> str:
        """Return it as one line, failures first: ``1 failed, 3 with changes (2 to add, 1 to destroy), 1 unchanged``."""
        parts = [
            f"{self.failed} failed" if self.failed else "",
            f"{self.refused} refused" if self.refused else "",
            f"{self.unplanned} not planned" if self.unplanned else "",
            f"{self.changed} with changes ({self._changes()})" if self.changed else "",
            f"{self.unchanged} unchanged" if self.unchanged else "",
            f"{self.gone} gone{self._left()}" if self.gone else "",
        ]
        return ", ".join(filter(None, parts))

    def _changes(self) -> str:
        return "; ".join(filter(None, (counts(self.changes), self.cost)))

    def _left(self) -> str:
        return f" ({many(self.left, 'resource')} {'stays' if self.left == 1 else 'stay'})" if self.left else ""


def tally(layers: Collection[SpeculativePlan]) -> Tally:
    """Return the counts of layers."""
    of = {state: sum(1 for each in layers if each.state is state) for state in LayerState}
    plans = [each.plan for each in layers if each.state is LayerState.PLANNED and each.plan]
    verdicts = [verdict for each in layers for verdict in each.verdicts]
    failing = _names(each for each in verdicts if each.failed)
    gone = sum(1 for each in layers if each.is_gone)
    return Tally(
        len(layers),
        of[LayerState.FAILED],
        of[LayerState.REFUSED],
        of[LayerState.WAITING] + of[LayerState.PLANNING] + of[LayerState.CANCELLED],
        of[LayerState.PLANNED],
        of[LayerState.NO_CHANGES] - gone,
        PlannedChanges(**{name: sum(getattr(each.changes, name) for each in plans) for name in _COUNTED}),
        failing,
        tuple(name for name in _names(each for each in verdicts if each.warned) if name not in failing),
        gone,
        sum(each.left or 0 for each in layers),
        total_text(each.cost for each in plans),
    )


def by_importance(layers: Iterable[SpeculativePlan]) -> Sequence[SpeculativePlan]:
    """Return the layers: failed ones first, then destroying, replacing, changing, and unchanged ones.

    Within a kind they have the merge's order, those that it does not deploy last.
    """
    found = list(layers)
    place = {stack: number for number, stack in enumerate(stacks_of(found))}
    return sorted(found, key=lambda each: (_rank(each), place[each.stack], each.is_extra, *_in_stack(each)))


def _in_stack(layer: SpeculativePlan) -> tuple[int, str, str]:
    return layer.tier, layer.root.name, layer.id


def _rank(layer: SpeculativePlan) -> int:
    if layer.state in _WITHOUT_PLAN:
        return _WITHOUT_PLAN.index(layer.state)
    if layer.state is LayerState.NO_CHANGES:
        return 6
    if layer.plan is None or layer.state is not LayerState.PLANNED:
        return 2
    changes = layer.plan.changes
    return 3 if changes.destroy else 4 if changes.replace else 5


def _names(verdicts: Iterable[PolicyVerdict]) -> tuple[str, ...]:
    return tuple(sorted({each.policy_set for each in verdicts}))


def stacks_of(layers: Iterable[SpeculativePlan]) -> Mapping[str, Sequence[SpeculativePlan]]:
    """Return the layers of each stack, by name; stacks that others depend on come first."""
    found: dict[str, list[SpeculativePlan]] = {}
    for layer in layers:
        found.setdefault(layer.stack, []).append(layer)
    places = tiers({stack: awaited(members) for stack, members in found.items()})
    return {stack: found[stack] for stack in sorted(found, key=lambda name: (places[name], name))}


def awaited(layers: Iterable[SpeculativePlan]) -> frozenset[str]:
    """Return the stacks that one stack's layers depend on."""
    return frozenset(name for each in layers for name in (*each.waits.plan_after, *each.waits.apply_after))
