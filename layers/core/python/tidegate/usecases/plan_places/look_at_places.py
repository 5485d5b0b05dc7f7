"""Look which plans wait for a free place, and behind what. Nothing is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tidegate.domain.plan_places.text import NOBODY_WAITS, WaitingPlans, waiting_plans
from tidegate.domain.pull_requests.temporary_layer import LayerState, TemporaryLayer
from tidegate.ports import PlanPlaces, TemporaryLayers


@dataclass(frozen=True, slots=True)
class PlaceLooker:
    """Looks at places. Where all layers are begun, it reads nothing; otherwise one item, and what has a place."""

    places: PlanPlaces
    layers: TemporaryLayers

    def look(self, repository: str, layers: Sequence[TemporaryLayer]) -> WaitingPlans:
        """Return which of the layers of a repository wait for a place."""
        waiting = {each.id for each in layers if each.state is LayerState.WAITING}
        if not waiting:
            return NOBODY_WAITS
        places = self.places.read(repository)
        if waiting.isdisjoint(places.line):
            return NOBODY_WAITS
        return waiting_plans(places, waiting, self.layers.many(places.held))
