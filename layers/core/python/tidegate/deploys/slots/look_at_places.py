"""Look which plans wait for a free place, or for a slot of the installation, and behind what. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.deploys.texts.plan_places import NOBODY_WAITS, WaitingPlans, waiting_for_slots, waiting_plans
from tidegate.ports import PlanPlaces, TemporaryLayers


@dataclass(frozen=True, slots=True)
class PlaceLooker:
    """Looks at places. Where all layers are begun, it reads nothing; otherwise one item or two, and what has a place.

    ``limit`` is how many runners the installation may have.
    """

    places: PlanPlaces
    layers: TemporaryLayers
    limit: int

    def look(self, repository: str, layers: Sequence[TemporaryLayer]) -> WaitingPlans:
        """Return which of the layers of a repository wait for a place."""
        waiting = {each.id for each in layers if each.state is LayerState.WAITING}
        if not waiting:
            return NOBODY_WAITS
        places = self.places.read(repository)
        found = NOBODY_WAITS
        if not waiting.isdisjoint(places.line):
            found = waiting_plans(places, waiting, self.layers.many(places.held))
        if waiting.isdisjoint(places.held):
            return found
        return waiting_for_slots(self.places.read(INSTALLATION), waiting, self.limit, found)
