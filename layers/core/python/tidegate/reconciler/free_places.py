"""Free the places of plans that nothing works on any more, and see that nobody waits while there is room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.temporary_layer import TemporaryLayer
from tidegate.deploys.slots.give_places import PlaceGiver
from tidegate.ports import Drifts, PlanPlaces, PullRequests, TemporaryLayers
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import NotFound

#: Repositories that one run looks at; each asks about the executions of those who plan in it.
WATCHED = 100

#: Tells how an execution of a name ended, None while it goes on. Raises NotFound.
Ending = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class FreePlaces:
    """Frees places. ``pull_ending`` and ``drift_ending`` tell of executions for pull requests, and that look for drift.

    The places are read before what has them: whatever works on a layer then has had its place all the time.
    """

    places: PlanPlaces
    layers: TemporaryLayers
    records: PullRequests
    drifts: Drifts
    giver: PlaceGiver
    pull_ending: Ending
    drift_ending: Ending

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(set(self.places.busy()) - {INSTALLATION}), self._free, WATCHED)

    def _free(self, repository: str) -> bool:
        places = self.places.read(repository)
        if places.is_quiet:
            self.places.rest(repository)
            return False
        planned = self._planned(repository, self.layers.many([*places.held, *places.line]))
        idle = [each for each in (*places.held, *places.line) if each not in planned]
        self.giver.leave(repository, idle)
        woken = [each for each in places.held if each in planned and self.giver.wake(repository, each)]
        handed_on = self.giver.hand_on(self.places.read(repository))
        return bool(idle or woken or handed_on)

    def _planned(self, repository: str, layers: Iterable[TemporaryLayer]) -> Collection[str]:
        """Return those of the layers that an execution still works on."""
        undone = [each for each in layers if not each.is_done]
        owners = {(each.pull_request, each.schedule) for each in undone}
        named = {name for owner in owners for name in self._worked_on(repository, *owner)}
        return {each.id for each in undone} & named

    def _worked_on(self, repository: str, pull_request: int, schedule: str) -> Collection[str]:
        """Return the layers of a pull request, or else of a schedule, if its execution goes on."""
        try:
            if schedule:
                run = self.drifts.get(repository, schedule)
                return run.layers if run.execution and self.drift_ending(run.execution) is None else ()
            record = self.records.get(repository, pull_request)
            return record.layers if record.is_open and self.pull_ending(record.execution) is None else ()
        except NotFound:
            return ()
