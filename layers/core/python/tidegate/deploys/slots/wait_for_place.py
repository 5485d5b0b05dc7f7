"""Let a temporary layer wait for a place, or for a slot of the installation: keep its token, join, and look again."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.plan_places import Places, Precedence
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.deploys.slots.give_places import PlaceGiver
from tidegate.deploys.slots.keep_slots import SlotKeeper
from tidegate.messages import WaitForPlace
from tidegate.ports import Announcements, PlanPlaces, TemporaryLayers
from tidegate.rules.errors import WrongState


@dataclass(frozen=True, slots=True)
class PlaceWaiter:
    """Lets layers wait. A retried state has a new token, and stays where it is in line."""

    layers: TemporaryLayers
    places: PlanPlaces
    giver: PlaceGiver
    slots: SlotKeeper
    announcements: Announcements

    def wait(self, message: WaitForPlace) -> None:
        """Wait with ``message.token``; go on at once when it is its turn.

        Raise NotFound when the layer is gone, WrongState when it has ended, and TooManyWait. A late
        copy of an earlier attempt, with which nobody waits any more, does nothing.
        """
        layer = self.layers.get(message.layer)
        if layer.is_done:
            raise WrongState(layer.id, layer.state, "waiting for a place")
        has_place = layer.id in self.places.read(layer.repository).held
        pool = INSTALLATION if has_place else layer.repository
        if not self.places.keep_token(pool, layer.id, message.token, message.attempt):
            return
        places = self._joined(layer, has_place=has_place)
        if layer.id in places.held:
            self.giver.wake(pool, layer.id)
        if not has_place:
            self.giver.hand_on(places)
        if not layer.schedule:
            self.announcements.layer_changed(layer)

    def _joined(self, layer: TemporaryLayer, *, has_place: bool) -> Places:
        if has_place:
            return self.slots.join(layer.id, Precedence.SPECULATION)
        return self.places.join(layer.repository, layer.id)
