"""Let a job of a deployment wait for a concurrency slot: keep the token that waits, and stand in the queue."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.slots import INSTALLATION, needs_slot, precedence_of
from tidegate.deploys.slots.keep_slots import SlotKeeper
from tidegate.messages import WaitForSlot
from tidegate.ports import Announcements, Clock, Deployments, PlanPlaces
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import TooLate, WrongState


@dataclass(frozen=True, slots=True)
class SlotWaiter:
    """Lets deployments wait. A retried state has a new token, and stays where it is in the queue.

    ``settle`` answers a task token, or raises TooLate.
    """

    deployments: Deployments
    places: PlanPlaces
    slots: SlotKeeper
    settle: Callable[[str, Mapping[str, Any]], object]
    announcements: Announcements
    clock: Clock

    def wait(self, message: WaitForSlot) -> None:
        """Wait with ``message.token``; go on at once with a slot that was handed over to an earlier attempt.

        Raise DeploymentCancelled; WrongState when no job of the deployment is to begin; TooManyWait; or Conflict when
        others keep writing. A late copy of an earlier attempt, with which nobody waits any more, does nothing.
        """
        deployment = self._waiting(message.deployment)
        if not self.places.keep_token(INSTALLATION, deployment.id, message.token, message.attempt):
            return
        deployment = deciding_again(lambda: self._marked(message.deployment))
        if deployment.id in self.slots.join(deployment.id, precedence_of(deployment)).held:
            with suppress(TooLate):
                self.settle(message.token, {})
        self.announcements.changed(deployment)

    def _marked(self, identifier: str) -> Deployment:
        """Say in the record since when it waits. Who cancels it writes there first, and reads the token then."""
        deployment = self._waiting(identifier)
        if deployment.slot_since:
            return deployment
        at = self.clock.now()
        return self.deployments.save(replace(deployment, slot_since=at, changed_at=at))

    def _waiting(self, identifier: str) -> Deployment:
        deployment = not_cancelled(self.deployments.get(identifier))
        if not needs_slot(deployment):
            raise WrongState(deployment.id, deployment.state, "waiting for a concurrency slot")
        return deployment
