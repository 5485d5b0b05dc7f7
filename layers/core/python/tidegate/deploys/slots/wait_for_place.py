"""Let a temporary layer wait for a place, or for a slot of the installation: keep its token, join, and look again.

A retried state has a new token, and stays where it is in line.
"""

from __future__ import annotations

from tidegate.deploys.rules.plan_places import Places, Precedence
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.deploys.slots.give_places import hand_on_places, wake_holder
from tidegate.deploys.slots.keep_slots import join_slots
from tidegate.messages import WaitForPlace
from tidegate.ports import Ports
from tidegate.rules.errors import WrongState


def wait_for_place(ports: Ports, message: WaitForPlace) -> None:
    """Wait with ``message.token``; go on at once when it is its turn.

    Raise NotFound when the layer is gone, WrongState when it has ended, and TooManyWait. A late
    copy of an earlier attempt, with which nobody waits any more, does nothing.
    """
    layer = ports.temporary_layers.get(message.layer)
    if layer.is_done:
        raise WrongState(layer.id, layer.state, "waiting for a place")
    has_place = layer.id in ports.plan_places.read(layer.repository).held
    pool = INSTALLATION if has_place else layer.repository
    if not ports.plan_places.keep_token(pool, layer.id, message.token, message.attempt):
        return
    places = _joined(ports, layer, has_place=has_place)
    if layer.id in places.held:
        wake_holder(ports, pool, layer.id)
    if not has_place:
        hand_on_places(ports, places)
    if not layer.schedule:
        ports.announcements.layer_changed(layer)


def _joined(ports: Ports, layer: TemporaryLayer, *, has_place: bool) -> Places:
    if has_place:
        return join_slots(ports, layer.id, Precedence.SPECULATION)
    return ports.plan_places.join(layer.repository, layer.id)
