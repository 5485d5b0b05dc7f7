"""Get what there is to say of a deployment that waits for a concurrency slot. Nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.slots import INSTALLATION, SlotWait, slot_wait
from tidegate.ports import PlanPlaces


@dataclass(frozen=True, slots=True)
class SlotWaits:
    """Reads one item for a deployment that waits, and nothing for every other."""

    places: PlanPlaces
    limit: int

    def get(self, deployment: Deployment) -> SlotWait | None:
        """Return its position and why it waits; None if it does not wait."""
        if not deployment.slot_since:
            return None
        places = self.places.read(INSTALLATION)
        if deployment.id not in (*places.held, *places.line):
            return None
        return slot_wait(places, deployment.id, deployment.slot_since, self.limit)
