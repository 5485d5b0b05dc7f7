"""Repair what events missed: each repair has its turn, and what fails in one keeps no other from its work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tidegate.ports import Clock
from tidegate.reconciler.turn import Repair, Turn

#: Seconds that one run works; the function has 240.
RUN_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What a run did: how much each repair repaired, and what could not be repaired."""

    repaired: dict[str, int] = field(default_factory=dict)
    failures: list[Exception] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Reconciles: ``repairs`` by their names, in order. Doing it twice is harmless."""

    clock: Clock
    repairs: Mapping[str, Repair]

    def reconcile(self) -> Reconciliation:
        """Let each repair have its share of the time that is left. What there is no time for has its turn later."""
        done = Reconciliation()
        end = self._now() + timedelta(seconds=RUN_SECONDS)
        for number, (name, repair) in enumerate(self.repairs.items()):
            share = (end - self._now()) / (len(self.repairs) - number)
            turn = Turn(self.clock, (self._now() + share).isoformat(timespec="microseconds"), done.failures)
            done.repaired[name] = self._repair(name, repair, turn)
        return done

    def _repair(self, name: str, repair: Repair, turn: Turn) -> int:
        try:
            return repair.repair(turn)
        except Exception as error:  # noqa: BLE001  # Whatever is wrong with one repair must not hold back the others.
            error.add_note(f"in the repair {name}")
            turn.failures.append(error)
            return 0

    def _now(self) -> datetime:
        return datetime.fromisoformat(self.clock.now())
