"""Let a temporary layer wait for a free place: keep the token that waits, stand in line, and look whether it has to."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.errors import WrongState
from tidegate.messages import WaitForPlace
from tidegate.ports import Announcements, PlanPlaces, TemporaryLayers
from tidegate.usecases.plan_places.give_places import PlaceGiver


@dataclass(frozen=True, slots=True)
class PlaceWaiter:
    """Lets layers wait. A retried state has a new token, and stays where it is in line."""

    layers: TemporaryLayers
    places: PlanPlaces
    giver: PlaceGiver
    announcements: Announcements

    def wait(self, message: WaitForPlace) -> None:
        """Wait with ``message.token``; go on at once when it is its turn.

        Raise NotFound when the layer is gone, and WrongState when it has ended. A late copy of an earlier attempt, with
        which nobody waits any more, does nothing.
        """
        layer = self.layers.get(message.layer)
        if layer.is_done:
            raise WrongState(layer.id, layer.state, "waiting for a place")
        if not self.places.keep_token(layer.repository, layer.id, message.token, message.attempt):
            return
        places = self.places.join(layer.repository, layer.id)
        if layer.id in places.held:
            self.giver.wake(layer.repository, layer.id)
        self.giver.hand_on(places)
        if not layer.schedule:
            self.announcements.layer_changed(layer)
