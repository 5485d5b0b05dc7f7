"""Get the position of a deployment that waits for a concurrency slot. Read-only."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.slots import INSTALLATION, SlotWait, slot_wait
from tidegate.ports import Ports


def get_slot_wait(ports: Ports, deployment: Deployment) -> SlotWait | None:
    """Return its position and why it waits; None if it does not wait."""
    if not deployment.slot_since:
        return None
    places = ports.plan_slots.read(INSTALLATION)
    if deployment.id not in (*places.held, *places.line):
        return None
    return slot_wait(places, deployment.id, deployment.slot_since, ports.slot_limit)
