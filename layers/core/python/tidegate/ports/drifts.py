"""The schedules on which repositories are checked for drift, and what was found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.config.rules.drift import DriftRecord


class Drifts(Protocol):
    """The records: one for each schedule of a repository, by its name. One that was never written has version 0."""

    def get(self, repository: str, schedule: str) -> DriftRecord:
        """Return a record. Raise NotFound."""

    def of(self, repository: str) -> Sequence[DriftRecord]:
        """Return the records of a repository, by name."""

    def listed(self) -> Iterable[tuple[str, str]]:
        """Return repository and name of all records. It may be behind by a second."""

    def many(self, schedules: Collection[tuple[str, str]]) -> Sequence[DriftRecord]:
        """Return those that exist, by repository and name."""

    def save(self, record: DriftRecord) -> DriftRecord:
        """Write the record if the stored one still has its version (0: there is none); return it with its new version.

        Raise Conflict, and OversizedRecord.
        """

    def remove(self, repository: str, schedule: str) -> None:
        """Remove a record; one that is gone already counts as removed."""


class Schedules(Protocol):
    """The cloud's schedules: each starts a drift detection run. Raises CloudUnavailable."""

    def put(self, record: DriftRecord) -> None:
        """Create or replace the schedule of a record. Raise ScheduleRefused."""

    def remove(self, repository: str, schedule: str) -> None:
        """Remove a schedule; one that is gone already counts as removed."""


class DriftRuns(Protocol):
    """Executions of the drift machine. Raises CloudUnavailable."""

    def start(self, execution: str, repository: str, schedule: str) -> None:
        """Start an execution of this name; one that exists already is left as it is."""

    def ending(self, execution: str) -> str | None:
        """Return how an execution ended, None while it goes on. Raise NotFound."""


class DriftEvents(Protocol):
    """Telling others what was found. It may be told twice, or, when nobody listens, not at all."""

    def looked_for(self, record: DriftRecord) -> None:
        """Put what a run found on the event bus."""
