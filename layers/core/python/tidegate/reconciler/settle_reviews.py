"""Carry out answers to plan reviews that were recorded and went no further: the function that recorded them died."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.review import is_decided
from tidegate.ports import Deployments
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import NotFound

#: Seconds after which an answer counts as forgotten: recording one and going on with it takes a second.
FORGOTTEN_AFTER = 60
_AT_MOST = 500


@dataclass(frozen=True, slots=True)
class SettleReviews:
    """Carries out decided reviews, by ``carry_out``; doing so again is harmless."""

    deployments: Deployments
    carry_out: Callable[[Deployment], None]

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.deployments.unshown()), lambda each: self._settle(each, turn), _AT_MOST)

    def _settle(self, identifier: str, turn: Turn) -> bool:
        try:
            deployment = self.deployments.get(identifier)
        except NotFound:
            return False
        if not is_decided(deployment) or deployment.review is None:
            return False
        answered = datetime.fromisoformat(deployment.review.at or deployment.changed_at)
        if (datetime.fromisoformat(turn.clock.now()) - answered).total_seconds() < FORGOTTEN_AFTER:
            return False
        self.carry_out(deployment)
        return True
