"""Durations as counts in fixed ranges: they can be added, and tell a median without keeping each duration."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
#: Seconds at which the ranges end, each at most two thirds longer than the one before; the last range has no end.
ENDS = (
    *(10, 15, 20, 30, 45),
    *(each * _MINUTE for each in (1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 20, 30, 45)),
    *(each * _HOUR for each in (1, 1.5, 2, 3, 4, 6, 8, 12, 16)),
    *(each * _DAY for each in (1, 1.5, 2, 3, 5, 7, 10, 14, 20, 30)),
)


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many durations were in each range, from the shortest; without ranges at the end that have none."""

    counts: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """How many durations there are."""
        return sum(self.counts)

    def with_one(self, seconds: float | None) -> Histogram:
        """Return the histogram with one duration more; None adds nothing."""
        return self if seconds is None else self.plus(Histogram((*(0,) * bisect_left(ENDS, seconds), 1)))

    def plus(self, other: Histogram) -> Histogram:
        """Return the sum of both."""
        return Histogram(tuple(map(sum, zip_longest(self.counts, other.counts, fillvalue=0))))

    def percentile(self, percent: int) -> float | None:
        """Return the duration in seconds that ``percent`` of all do not exceed; None without durations.

        Durations count as evenly spread over their range, and those in the last range as its begin.
        """
        rank = self.total * percent / 100
        passed = 0
        for place, count in enumerate(self.counts):
            if count and passed + count >= rank:
                begin = ENDS[place - 1] if place else 0
                width = ENDS[place] - begin if place < len(ENDS) else 0
                return begin + width * (rank - passed) / count
            passed += count
        return None


def added(histograms: Iterable[Histogram]) -> Histogram:
    """Return the sum of all."""
    total = Histogram()
    for each in histograms:
        total = total.plus(each)
    return total
