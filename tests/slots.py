"""Concurrency slots for tests: enough of them, unless a test is about them."""

from __future__ import annotations

from tests.fakes import MemoryAnnouncements, MemoryDeployments, MemoryJobs, MemoryPlanPlaces
from tidegate.deploys.slots.get_slot_wait import SlotWaits
from tidegate.deploys.slots.keep_slots import SlotKeeper
from tidegate.ports import Announcements, Deployments, Jobs, PlanPlaces

#: More than any test has runners.
ENOUGH = 1_000


def keeper(
    deployments: Deployments | None = None,
    *,
    places: PlanPlaces | None = None,
    announcements: Announcements | None = None,
    limit: int = ENOUGH,
    jobs: Jobs | None = None,
) -> SlotKeeper:
    """Return what keeps slots."""
    return SlotKeeper(
        places or MemoryPlanPlaces(),
        deployments or MemoryDeployments(),
        announcements or MemoryAnnouncements(),
        limit,
        jobs or MemoryJobs(),
    )


def nobody_waits() -> SlotWaits:
    """Return what says that nobody waits for a slot."""
    return SlotWaits(MemoryPlanPlaces(), ENOUGH)


def no_token(_deployment: str) -> str:
    """Return the token of a deployment that waits for no slot."""
    return ""
