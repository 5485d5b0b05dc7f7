"""Let a speculative plan wait for a slot: store its token, join the line, and check again.

A retried state has a new token and keeps its position.
"""

from __future__ import annotations

from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.slots.assign_plan_slots import assign_free_plan_slots, wake_holder
from tidegate.deploys.slots.keep_slots import join_slot_queue
from tidegate.messages import WaitForPlanSlot
from tidegate.ports import Ports
from tidegate.rules.errors import WrongState


def wait_for_plan_slot(ports: Ports, message: WaitForPlanSlot) -> None:
    """Wait with ``message.token``; continue immediately if a slot is free.

    Raise NotFound if the layer is gone, WrongState if it has ended, and TooManyWait. A late copy of an earlier attempt,
    whose token has expired, does nothing.
    """
    layer = ports.speculative_plans.get(message.layer)
    if layer.is_done:
        raise WrongState(layer.id, layer.state, "waiting for a concurrency slot")
    has_slot = layer.id in ports.plan_slots.read(layer.repository).held
    pool = INSTALLATION if has_slot else layer.repository
    if not ports.plan_slots.keep_token(pool, layer.id, message.token, message.attempt):
        return
    places = _joined(ports, layer, has_slot=has_slot)
    if layer.id in places.held:
        wake_holder(ports, pool, layer.id)
    if not has_slot:
        assign_free_plan_slots(ports, places)
    if not layer.schedule:
        ports.event_publisher.layer_changed(layer)


def _joined(ports: Ports, layer: SpeculativePlan, *, has_slot: bool) -> SlotUsage:
    if has_slot:
        return join_slot_queue(ports, layer.id, Precedence.SPECULATION)
    return ports.plan_slots.join(layer.repository, layer.id)
