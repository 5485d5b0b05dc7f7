"""End deployments that were cancelled, or withdrawn by closing their pull request, and have not ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.ports import Deployments
from tidegate.reconciler.turn import Turn

_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class CancelWithdrawn:
    """Ends such deployments, by ``go_on``, which tells whether there was something to end."""

    deployments: Deployments
    go_on: Callable[[str], bool]

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.deployments.unshown()), self.go_on, _AT_MOST)
