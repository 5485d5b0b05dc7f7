"""Read the figures of repositories, within a number of reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tidegate.insights.rules.day import Day
from tidegate.insights.rules.report import Span
from tidegate.ports import Ports

#: Reads of the table at most, each of 1 MB. A page has up to three more, for who asks.
MOST_READS = 12


@dataclass(frozen=True, slots=True)
class Found:
    """Days, and the names of repositories of which not all days were read."""

    days: Sequence[Day]
    left_out: Sequence[str]


def get_insights(ports: Ports, repositories: Iterable[str], span: Span) -> Found:
    """Return the days of a span, of the first repositories first."""
    first = span.first(ports.clock.now().date()).isoformat()
    days: list[Day] = []
    left_out: list[str] = []
    reads = 0
    for repository in repositories:
        if reads >= MOST_READS:
            left_out.append(repository)
            continue
        found, used, is_complete = ports.insights.read(repository, first, MOST_READS - reads)
        reads += used
        days += found
        if not is_complete:
            left_out.append(repository)
    return Found(days, left_out)
