"""Look again at what deployments wait for that their roots require: the event that tells of it may have been lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import State
from tidegate.ports import Deployments
from tidegate.reconciler.turn import Turn

#: Each is some calls to the forge: checks, teams and pull requests of commits tell of nothing by themselves.
_AT_MOST = 50


@dataclass(frozen=True, slots=True)
class LookAtRequirements:
    """Looks at deployments that wait for their requirements, by ``look``; again is harmless."""

    deployments: Deployments
    look: Callable[[str], bool]

    def repair(self, turn: Turn) -> int:
        open_ = self.deployments.many(sorted(self.deployments.unshown())).values()
        waiting = [each.id for each in open_ if each.state is State.AWAITING_REQUIREMENTS]
        return turn.each(waiting, self.look, _AT_MOST)
