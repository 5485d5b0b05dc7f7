"""What a plan changes, in words: one format for check runs, comments, pages, notifications and the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from tidegate.plans.rules.cost import PlanCost, difference_text


class Counted(Protocol):
    """Counts of a plan, as records and the API have them."""

    @property
    def add(self) -> int: ...
    @property
    def change(self) -> int: ...
    @property
    def destroy(self) -> int: ...
    @property
    def replace(self) -> int: ...
    @property
    def outputs(self) -> int: ...
    @property
    def moved(self) -> int: ...
    @property
    def actions(self) -> int: ...
    @property
    def deferred(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Count:
    """One count above 0: ``kind`` is its name in ``Counted``, ``text`` is it in words, such as ``9 to add``."""

    kind: str
    text: str


def each_count(changes: Counted) -> tuple[Count, ...]:
    """Return what a plan changes, a kind after the other. Kinds that it lacks are left out; an empty plan has none."""
    return tuple(_each(changes))


def counts(changes: Counted) -> str:
    """Return what a plan changes on one line, such as ``9 to add, 6 to change, 1 to destroy``."""
    return ", ".join(each.text for each in each_count(changes)) or "nothing to change"


def counts_and_cost(changes: Counted, cost: PlanCost | None) -> str:
    """Return what a plan changes, and its cost if it is stated: ``9 to add; +12.30 USD a month``."""
    return f"{counts(changes)}; {difference_text(cost)}" if cost else counts(changes)


def _each(changes: Counted) -> Iterator[Count]:
    for kind, number, words in (
        ("add", changes.add, "to add"),
        ("change", changes.change, "to change"),
        ("destroy", changes.destroy, "to destroy"),
        ("replace", changes.replace, "to replace"),
        ("outputs", changes.outputs, "output to change" if changes.outputs == 1 else "outputs to change"),
        ("moved", changes.moved, "to move, import or forget"),
        ("actions", changes.actions, "action to invoke" if changes.actions == 1 else "actions to invoke"),
        ("deferred", changes.deferred, "deferred"),
    ):
        if number:
            yield Count(kind, f"{number} {words}")
