"""Find which plans wait for a slot of the repository or the installation, and behind what. Read-only.

If all layers have begun it reads nothing; otherwise one or two items, and the slot holders.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.deploys.texts.plan_slots import NOBODY_WAITS, WaitingPlans, waiting_for_slots, waiting_plans
from tidegate.ports import Ports


def get_waiting_plans(ports: Ports, repository: str, layers: Sequence[SpeculativePlan]) -> WaitingPlans:
    """Return which of the layers of a repository wait for a slot."""
    waiting = {each.id for each in layers if each.state is LayerState.WAITING}
    if not waiting:
        return NOBODY_WAITS
    places = ports.plan_slots.read(repository)
    found = NOBODY_WAITS
    if not waiting.isdisjoint(places.line):
        found = waiting_plans(places, waiting, ports.speculative_plans.many(places.held), ports.terms)
    if waiting.isdisjoint(places.held):
        return found
    return waiting_for_slots(ports.plan_slots.read(INSTALLATION), waiting, ports.slot_limit, found)
