"""Look for drift now, without waiting for the schedule's time."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.ports import Deliveries, Delivery, DeliveryOutcome, DriftRuns, Drifts, Forge
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound
from tidegate.rules.permission import Permission
from tidegate.vcs.conclude import conclude


@dataclass(frozen=True, slots=True)
class DriftStarter:
    """Starts runs of schedules. One run of a schedule goes on at a time, whoever started it."""

    drifts: Drifts
    runs: DriftRuns

    def look(self, repository: str, schedule: str, demand: str) -> Decision:
        """Start a run, unless one goes on. ``demand`` (an id) starts one only, however often it comes.

        Raise NotFound for a schedule that there is not, and CloudUnavailable.
        """
        record = self.drifts.get(repository, schedule)
        if record.execution and self._goes_on(record.execution):
            return Decision(done=False, reason=f"The schedule {schedule} looks for drift already.")
        self.runs.start(f"now-{demand}", repository, schedule)
        return Decision(done=True, reason=f"The schedule {schedule} looks for drift now.")

    def _goes_on(self, execution: str) -> bool:
        try:
            return self.runs.ending(execution) is None
        except NotFound:
            return False


@dataclass(frozen=True, slots=True)
class DriftRerunReceiver:
    """Starts a run of the schedule whose check run somebody has run again, if they may write to the repository."""

    deliveries: Deliveries
    forge: Forge
    starter: DriftStarter

    def receive(self, delivery: Delivery) -> str:
        """Return, and store with the delivery, what became of it. Raise ForgeUnavailable and CloudUnavailable."""
        return conclude(self.deliveries, delivery.id, lambda: DeliveryOutcome(self._looked(delivery)))

    def _looked(self, delivery: Delivery) -> str:
        given = delivery.fields
        if self.forge.permission(given["installation"], given["repository"], given["sender"]) < Permission.WRITE:
            return f"{given['sender']} may not write to {given['repository']}, so nothing is looked for."
        try:
            return self.starter.look(given["repository"], given["schedule"], delivery.id).reason
        except NotFound as error:
            return str(error)
