"""The figures of repositories by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.insights.rules.day import Day


class Insights(Protocol):
    """The days of each repository, by date (``2026-03-02``). Days expire after 400 days."""

    def get(self, repository: str, date: str) -> Day:
        """Return a day, consistently."""

    def save(self, day: Day) -> None:
        """Write a day. Raise Conflict unless the stored one still has its version."""

    def count(self, day: Day, deployment: str) -> bool:
        """Write a day as ``save`` does, and mark a deployment as counted, all or nothing.

        Return False, and change nothing, if the deployment is counted already, or has no record.
        """

    def read(self, repository: str, first: str, most_reads: int) -> tuple[Sequence[Day], int, bool]:
        """Return the days since ``first``, newest first, how many reads that took, and whether these are all.

        Stops after ``most_reads`` of 1 MB each. May be stale by a second.
        """
