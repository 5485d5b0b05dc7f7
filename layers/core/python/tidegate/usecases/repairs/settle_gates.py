"""Look again at gates at which somebody waits: what asked for it was lost, or who looked died half-way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.domain.gate import WAITING
from tidegate.ports import Deployments
from tidegate.usecases.repairs.turn import Turn

_AT_MOST = 500
#: Records that one read brings.
_READ = 100


@dataclass(frozen=True, slots=True)
class SettleGates:
    """Looks at the gates of every change of which a deployment waits, by ``open_gates``; again is harmless."""

    deployments: Deployments
    open_gates: Callable[[str], int]

    def repair(self, turn: Turn) -> int:
        return turn.each(self._waiting(), lambda change_set: self.open_gates(change_set) > 0, _AT_MOST)

    def _waiting(self) -> list[str]:
        """Return the changes of which a deployment waits at a gate."""
        unshown = sorted(self.deployments.unshown())
        parts = [unshown[start : start + _READ] for start in range(0, len(unshown), _READ)]
        records = [record for part in parts for record in self.deployments.many(part).values()]
        return sorted({record.change_set for record in records if record.state in WAITING})
