"""The figures of days, in memory."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from tests.fakes.stores import MemoryDeployments
from tidegate.insights.rules.day import Day
from tidegate.rules.errors import Conflict


class MemoryInsights:
    """The port ``Insights``."""

    def __init__(self, deployments: MemoryDeployments) -> None:
        self._deployments = deployments
        self._days: dict[tuple[str, str], Day] = {}
        self._counted: set[str] = set()
        self._lock = threading.Lock()

    def get(self, repository: str, date: str) -> Day:
        with self._lock:
            return self._days.get((repository, date), Day(repository, date))

    def save(self, day: Day) -> None:
        with self._lock:
            self._save(day)

    def count(self, day: Day, deployment: str) -> bool:
        is_known = bool(self._deployments.many([deployment]))
        with self._lock:
            if deployment in self._counted or not is_known:
                return False
            self._save(day)
            self._counted.add(deployment)
            return True

    def read(self, repository: str, first: str, most_reads: int) -> tuple[Sequence[Day], int, bool]:
        with self._lock:
            keys = sorted((key for key in self._days if key[0] == repository and key[1] >= first), reverse=True)
            return [self._days[key] for key in keys], 1, True

    def _save(self, day: Day) -> None:
        key = day.repository, day.date
        if self._days.get(key, Day(*key)).version != day.version:
            raise Conflict(f"The figures of {day.repository}")
        self._days[key] = replace(day, version=day.version + 1)
