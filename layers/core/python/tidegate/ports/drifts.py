"""Schedules of drift detection, and their results."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.config.rules.drift import DriftRecord


class Drifts(Protocol):
    """The records: one for each schedule of a repository, by its name. An unwritten one has version 0."""

    def get(self, repository: str, schedule: str) -> DriftRecord:
        """Return a record. Raise NotFound."""

    def of(self, repository: str) -> Sequence[DriftRecord]:
        """Return the records of a repository, by name."""

    def listed(self) -> Iterable[tuple[str, str]]:
        """Return repository and name of all records. May be stale by a second."""

    def many(self, schedules: Collection[tuple[str, str]]) -> Sequence[DriftRecord]:
        """Return those that exist, by repository and name."""

    def save(self, record: DriftRecord) -> DriftRecord:
        """Write the record if the stored one still has its version (0: there is none); return it with its new version.

        Raise Conflict, and OversizedRecord.
        """

    def remove(self, repository: str, schedule: str) -> None:
        """Remove a record; one that is gone already counts as removed."""


class Schedules(Protocol):
    """Schedules of EventBridge: each starts a drift detection run. Raises CloudUnavailable."""

    def put(self, record: DriftRecord) -> None:
        """Create or replace the schedule of a record. Raise ScheduleRefused."""

    def remove(self, repository: str, schedule: str) -> None:
        """Remove a schedule; one that is gone already counts as removed."""


class DriftRuns(Protocol):
    """Executions of the drift machine. Raises CloudUnavailable."""

    def start(self, execution: str, repository: str, schedule: str) -> None:
        """Start an execution of this name; an existing one is left alone."""

    def ending(self, execution: str) -> str | None:
        """Return an execution's final status, None while it runs. Raise NotFound."""


class DriftEvents(Protocol):
    """Publishes results of drift detection. An event may be repeated, or lost if the bus fails."""

    def looked_for(self, record: DriftRecord) -> None:
        """Put a run's result on the event bus."""
