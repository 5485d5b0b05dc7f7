"""One reconciler pass: its items, its time, and its failures."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from tidegate.ports import Clock

#: Seconds from one run of the reconciler to the next.
RUNS_EVERY = 300

Item = TypeVar("Item")


@dataclass(slots=True)
class ReconcilerPass:
    """One run. It ends at ``until``; ``failures`` are what went wrong in it."""

    clock: Clock
    until: datetime
    failures: list[Exception] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The number of the run, counted from the clock's beginning."""
        return int(self.clock.now().timestamp()) // RUNS_EVERY

    def ago(self, seconds: float) -> datetime:
        """Return the time that was so many seconds before now."""
        return self.clock.now() - timedelta(seconds=seconds)

    def each(self, items: Iterable[Item], repair: Callable[[Item], bool], at_most: int) -> int:
        """Reconcile items while there is time, in another order in each run. Return how many needed it.

        A failing item does not stop the others.
        """
        repaired = 0
        order = random.Random(self.number)  # noqa: S311  # Chance shares the time fairly; nobody gains by guessing it.
        found = list(items)
        for item in order.sample(found, min(at_most, len(found))):
            if self.clock.now() >= self.until:
                break
            try:
                repaired += repair(item)
            except Exception as error:  # noqa: BLE001  # Whatever is wrong with one must not hold back the others.
                error.add_note(f"while reconciling {item}")
                self.failures.append(error)
        return repaired
