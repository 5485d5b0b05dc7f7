"""Free the concurrency slots of jobs that are over, and see that nobody waits while there is room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.plan_places import Places, in_order
from tidegate.deploys.rules.slots import INSTALLATION, needs_slot
from tidegate.deploys.rules.temporary_layer import LayerState, TemporaryLayer
from tidegate.deploys.slots.give_places import PlaceGiver
from tidegate.deploys.slots.keep_slots import task_left
from tidegate.ports import Announcements, Deployments, DeployQueues, Jobs, PlanPlaces, Runners, TemporaryLayers
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import Conflict

#: Holders that one run frees at most.
_AT_MOST = 500
#: Records that one read brings.
_READ = 100
#: Check runs whose position is brought up to date in one run: the forge lets few be written.
SHOWN = 40


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """Frees slots. ``giver`` is that of the installation's slots.

    The slots are read before what has them, and one is freed only while nobody took any since: so a job that begins
    meanwhile keeps its own. Deployments end by other repairs first, if their executions are gone.
    """

    places: PlanPlaces
    queues: DeployQueues
    deployments: Deployments
    layers: TemporaryLayers
    giver: PlaceGiver
    announcements: Announcements
    jobs: Jobs
    runners: Runners

    def repair(self, turn: Turn) -> int:
        places = self.places.read(INSTALLATION)
        if places.is_quiet:
            self.places.rest(INSTALLATION)
            return 0
        known = _Holders(self, places)
        freed = turn.each(sorted(known.unneeded()), self._free, _AT_MOST)
        woken = sum(self.giver.wake(INSTALLATION, each) for each in sorted(known.asleep()))
        handed_on = self.giver.hand_on(self.places.read(INSTALLATION))
        for each in known.waiting()[:SHOWN]:
            self.announcements.place_changed(each)
        return freed + woken + handed_on

    def _free(self, holder: str) -> bool:
        places = self.places.read(INSTALLATION)
        if holder not in _Holders(self, places, (holder,)).unneeded():
            return False
        try:
            self.places.free(places, holder)
        except Conflict:  # The next run looks again.
            return False
        return True

    def needs(self, deployment: Deployment) -> bool:
        """Tell whether a deployment is in flight, and may have a slot."""
        if deployment.state is State.QUEUED:
            return self.queues.read(deployment.queue)[0].in_flight == deployment.id
        return needs_slot(deployment) or self._runs(task_left(deployment, self.jobs))

    def _runs(self, task: str) -> bool:
        """Tell whether a task goes on: the event that it stopped may be lost."""
        return bool(task) and any(each.arn == task for each in self.runners.running())

    def has_place(self, layer: TemporaryLayer) -> bool:
        """Tell whether a layer has its place in its repository: it takes it first, and gives it back first."""
        return layer.id in self.places.read(layer.repository).held


class _Holders:
    """Those who have slots or wait for them, or some of them."""

    def __init__(self, repair: FreeSlots, places: Places, only: tuple[str, ...] = ()) -> None:
        self._repair, self._places = repair, places
        self._ids = [each for each in (*places.held, *places.line) if not only or each in only]
        self._deployments: Mapping[str, Deployment] = dict(self._read_deployments())
        left = [each for each in self._ids if each not in self._deployments]
        self._layers = {each.id: each for each in repair.layers.many(left)}

    def unneeded(self) -> set[str]:
        """Return those of which no job runs or begins. A layer that waits leaves the queue once it has ended."""
        return {each for each in self._ids if not self._needs(each)}

    def asleep(self) -> set[str]:
        """Return those that have a slot and may wait all the same: who handed it over may have died."""
        marked = {each.id for each in self._deployments.values() if each.slot_since}
        waiting = {each.id for each in self._layers.values() if each.state is LayerState.WAITING}
        return (marked | waiting) & set(self._places.held)

    def waiting(self) -> list[str]:
        """Return the deployments that wait, in order."""
        return [each for each in in_order(self._places) if each in self._deployments]

    def _needs(self, holder: str) -> bool:
        if holder in self._deployments:
            return self._repair.needs(self._deployments[holder])
        layer = self._layers.get(holder)
        if layer is None or layer.is_done:
            return False
        return holder in self._places.line or self._repair.has_place(layer)

    def _read_deployments(self) -> Iterator[tuple[str, Deployment]]:
        for start in range(0, len(self._ids), _READ):
            yield from self._repair.deployments.many(self._ids[start : start + _READ]).items()
