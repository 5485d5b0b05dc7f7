"""Release concurrency slots for speculative plans, and hand free ones to the waiting, in order.

A waiting plan stores its token, joins the line, and only then checks for a free slot; a release reads the line
afterwards. Both change the same item, so one of the two sees the other.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from tidegate.deploys.rules.plan_slots import SlotUsage, next_pass
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.slots.keep_slots import release_slots
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound, TooLate

#: Handovers in one call: more than there are slots. The next call does the rest.
_LOOKS = 200


def release_all_slots(ports: Ports, repository: str, layers: Collection[str]) -> None:
    """Give back the slots of layers, and their slots of the installation."""
    release_plan_slots(ports, repository, layers)
    release_slots(ports, layers)


def release_plan_slots(ports: Ports, repository: str, layers: Collection[str]) -> None:
    """Release the slots of layers, also waiting ones, and hand over free slots. A repeated call is harmless."""
    if layers:
        assign_free_plan_slots(ports, deciding_again(partial(ports.plan_slots.leave, repository, layers)))


def assign_free_plan_slots(ports: Ports, places: SlotUsage) -> int:
    """Hand free slots to those that wait longest; return how many were woken."""
    woken = 0
    for _ in range(_LOOKS):
        first = next_pass(places, _limit(ports, places.repository)).layer
        if first is None:
            break
        if ports.plan_slots.hand_over(places.repository, first, _limit(ports, places.repository)):
            woken += _goes_on(ports, places.repository, first)
        places = ports.plan_slots.read(places.repository)
    return woken


def assign_free_slots(ports: Ports, _asked: object = None) -> int:
    """Hand free concurrency slots of the installation to those who wait longest; return how many were woken."""
    return assign_free_plan_slots(ports, ports.plan_slots.read(INSTALLATION))


def _limit(ports: Ports, holder_of: str) -> int:
    return ports.slot_limit if holder_of == INSTALLATION else ports.plan_slot_limit


def wake_holder(ports: Ports, repository: str, layer: str) -> bool:
    """Settle the token of a layer that got a slot; return False if the token has expired."""
    return _settled(ports, _token(ports, repository, layer))


def _settled(ports: Ports, token: str) -> bool:
    try:
        if token:
            ports.workflows.settle(token, {})
    except TooLate:
        return False
    return bool(token)


def _token(ports: Ports, repository: str, layer: str) -> str:
    try:
        return ports.plan_slots.token(repository, layer)
    except NotFound:
        return ""


def _goes_on(ports: Ports, repository: str, layer: str) -> bool:
    """Wake a layer. If its token has expired, as its execution was stopped, it needs no slot."""
    token = _token(ports, repository, layer)
    if _settled(ports, token):
        return True
    deciding_again(lambda: _drop(ports, repository, layer, token))
    return False


def _drop(ports: Ports, repository: str, layer: str, token: str) -> None:
    """Take back the slot of a layer whose token has expired.

    A retried state first stores a newer token and then finds that it has the slot: then it continues.
    """
    seen = ports.plan_slots.read(repository)
    if _token(ports, repository, layer) == token:
        ports.plan_slots.free(seen, layer)
