"""Schedules that look for drift, and their records, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from tidegate.config.rules.drift import DriftRecord
from tidegate.rules.errors import CloudUnavailable, Conflict, NotFound, ScheduleRefused, TidegateError

Key = tuple[str, str]


class MemoryDrifts:
    """The port ``Drifts``."""

    def __init__(self) -> None:
        self._records: dict[Key, DriftRecord] = {}
        self._lock = threading.Lock()

    def get(self, repository: str, schedule: str) -> DriftRecord:
        with self._lock:
            if (repository, schedule) not in self._records:
                raise NotFound("schedule", f"{repository} {schedule}")
            return self._records[repository, schedule]

    def of(self, repository: str) -> Sequence[DriftRecord]:
        with self._lock:
            return [self._records[key] for key in sorted(self._records) if key[0] == repository]

    def listed(self) -> Iterable[Key]:
        with self._lock:
            return sorted(self._records)

    def many(self, schedules: Collection[Key]) -> Sequence[DriftRecord]:
        with self._lock:
            return [self._records[key] for key in sorted(set(schedules)) if key in self._records]

    def save(self, record: DriftRecord) -> DriftRecord:
        key = record.repository, record.entry.name
        with self._lock:
            stored = self._records.get(key)
            if (stored.version if stored else 0) != record.version:
                raise Conflict(f"The schedule {record.entry.name} of {record.repository}")
            self._records[key] = replace(record, version=record.version + 1)
            return self._records[key]

    def remove(self, repository: str, schedule: str) -> None:
        with self._lock:
            self._records.pop((repository, schedule), None)


@dataclass(slots=True)
class MemorySchedules:
    """The port ``Schedules``: ``entries`` are those that exist, by repository and name.

    Those in the time zone ``Antarctica/Troll`` are refused; ``refusals`` makes as many of the next calls fail.
    """

    entries: dict[Key, DriftRecord] = field(default_factory=dict)
    writes: int = 0
    refusals: int = 0

    def put(self, record: DriftRecord) -> None:
        self._refuse()
        if record.entry.timetable.zone == "Antarctica/Troll":
            raise ScheduleRefused("there is no such time zone")
        self.entries[record.repository, record.entry.name] = record

    def remove(self, repository: str, schedule: str) -> None:
        self._refuse()
        self.entries.pop((repository, schedule), None)

    def _refuse(self) -> None:
        self.writes += 1
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("EventBridge Scheduler", "ThrottlingException")


@dataclass(slots=True)
class MemoryDriftEvents:
    """The port ``DriftEvents``: what was told, in order."""

    told: list[DriftRecord] = field(default_factory=list)

    def looked_for(self, record: DriftRecord) -> None:
        self.told.append(record)


@dataclass(slots=True)
class MemoryDriftRuns:
    """The port ``DriftRuns``: ``started`` by name (repository, schedule), and how those ended that do not go on."""

    started: dict[str, tuple[str, str]] = field(default_factory=dict)
    endings: dict[str, str] = field(default_factory=dict)

    def start(self, execution: str, repository: str, schedule: str) -> None:
        self.started.setdefault(execution, (repository, schedule))

    def ending(self, execution: str) -> str | None:
        if execution not in self.started:
            raise NotFound("execution", execution)
        return self.endings.get(execution)


@dataclass(slots=True)
class MemoryIssues:
    """The port ``ForgeIssues``: ``texts`` and ``titles`` by number, and those that are ``opened``.

    ``gone`` ones are deleted, ``hasty`` ones right after they were found.
    ``failures`` are raised by the next calls, one each.
    """

    texts: dict[int, str] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)
    opened: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    hasty: set[int] = field(default_factory=set)
    failures: list[TidegateError] = field(default_factory=list)
    calls: int = 0

    def open_issue(self, repository: str, title: str, text: str) -> int:
        self._called()
        number = len(self.texts) + 1
        self.texts[number], self.titles[number] = text, title
        self.opened.add(number)
        return number

    def write_issue(self, repository: str, issue: int, text: str, *, is_open: bool) -> None:
        self._called()
        if issue in self.gone or issue not in self.texts:
            raise NotFound("issue", str(issue))
        self.texts[issue] = text
        self.opened = self.opened | {issue} if is_open else self.opened - {issue}

    def our_issues(self, repository: str, marker: str) -> Sequence[int]:
        self._called()
        found = [number for number in sorted(self.opened - self.gone) if self.texts[number].startswith(marker)]
        self.gone |= self.hasty
        return found

    def _called(self) -> None:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
