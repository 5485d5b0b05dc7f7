"""Take concurrency slots for jobs, and give them back; whoever waits then is asked for, not woken here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.plan_places import Places, Precedence, next_turn
from tidegate.deploys.rules.slots import (
    INSTALLATION,
    MOST_WAITING,
    busy_words,
    job_without_result,
    may_wait,
    needs_slot,
)
from tidegate.ports import Announcements, Deployments, Jobs, PlanPlaces
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NoFreeSlot, NotFound, TooManyWait


def task_left(deployment: Deployment, jobs: Jobs) -> str:
    """Return the task that may go on though its deployment has ended without its result; empty if there is none."""
    job = job_without_result(deployment)
    runner = (jobs.at_large(job) if job else None) or ""
    return runner if runner.startswith("arn:") else ""


@dataclass(frozen=True, slots=True)
class SlotKeeper:
    """Keeps the slots, of which there are ``limit``.

    Who waits joins the queue first and looks for a free slot then; who gives one back looks at the queue then. Both
    change one item, so one of the two sees the other, and asks for slots to be handed on.
    """

    places: PlanPlaces
    deployments: Deployments
    announcements: Announcements
    limit: int
    jobs: Jobs

    def take(self, holder: str) -> None:
        """Take a slot. One that has a slot keeps it. Raise NoFreeSlot when it has to wait."""
        places = self.places.take(INSTALLATION, holder, self.limit)
        if holder not in places.held:
            waiting = f", and {len(places.line)} wait already" if places.line else ""
            raise NoFreeSlot(holder, f"{busy_words(len(places.held), self.limit)}{waiting}")

    def join(self, holder: str, precedence: Precedence) -> Places:
        """Stand in the queue, unless the holder has a slot. Return the slots as they are then. Raise TooManyWait."""
        if not may_wait(self.places.read(INSTALLATION), holder):
            raise TooManyWait(holder, MOST_WAITING)
        places = self.places.join(INSTALLATION, holder, precedence)
        self._ask(places)
        return places

    def leave(self, holders: Collection[str]) -> None:
        """Give back the slots, also those waited for, of holders of which no job begins any more."""
        if holders:
            self._ask(deciding_again(partial(self.places.leave, INSTALLATION, holders)))

    def give_back(self, deployment: str) -> None:
        """Give back a deployment's slot unless one of its jobs runs, or is to begin: once more, or late, is harmless.

        One that ended without its runner's result keeps its slot until the runner's task has stopped.

        Raise Conflict when others keep taking slots: call it again then.
        """
        self._ask(deciding_again(lambda: self._given_back(deployment)))

    def _given_back(self, identifier: str) -> Places:
        """Read the slots before the record: whoever takes one for its next job after that is seen."""
        places = self.places.read(INSTALLATION)
        if identifier not in (*places.held, *places.line) or self._needs(identifier):
            return places
        return self.places.free(places, identifier)

    def _needs(self, identifier: str) -> bool:
        try:
            deployment = self.deployments.get(identifier)
            return needs_slot(deployment) or bool(task_left(deployment, self.jobs))
        except NotFound:
            return False

    def _ask(self, places: Places) -> None:
        if next_turn(places, self.limit).layer is not None:
            self.announcements.slots_freed()
