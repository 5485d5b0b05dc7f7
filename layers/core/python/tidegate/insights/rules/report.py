"""What the days of repositories say together: in all, over time, and by repository, stack and team."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

from tidegate.deploys.rules.provider_time import ProviderTime, slowest_providers
from tidegate.insights.rules.day import (
    Day,
    DriftSeen,
    Figures,
    RootTime,
    StackFigures,
    StackProvider,
    roots_together,
    together,
)

#: Roots of a report, and providers.
MOST_SHOWN = 15


class Span(Enum):
    """The time that a report covers: its name, its days, and the days of one period in it."""

    WEEK = ("7d", 7, 1)
    MONTH = ("30d", 30, 1)
    QUARTER = ("13w", 91, 7)
    YEAR = ("52w", 364, 28)

    @property
    def label(self) -> str:
        """Its name in addresses."""
        return self.value[0]

    @property
    def days(self) -> int:
        """How many days it has, today included."""
        return self.value[1]

    @property
    def step(self) -> int:
        """How many days a period has."""
        return self.value[2]

    def first(self, today: date) -> date:
        """Return its first day."""
        return today - timedelta(days=self.days - 1)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a report is about; None for all. An empty team are the roots without one."""

    stack: str | None = None
    team: str | None = None

    def includes(self, one: StackFigures | RootTime | StackProvider) -> bool:
        """Tell whether it is about these."""
        return self.stack in (None, one.stack) and self.team in (None, one.team)


@dataclass(frozen=True, slots=True)
class Drifted:
    """Drift at the end of a period: how many roots, and for how many seconds the oldest."""

    roots: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Period:
    """A period, by its first day. ``drift`` is None if no schedule ran in it."""

    begins: date
    figures: Figures
    drift: Drifted | None


@dataclass(frozen=True, slots=True)
class SlowRoot:
    """A root of a repository, and its runs."""

    repository: str
    time: RootTime


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of a span, with the sums by name, largest first; ``stacks`` and ``teams`` are all to choose from."""

    total: Figures
    periods: tuple[Period, ...]
    by_repository: tuple[tuple[str, Figures], ...]
    by_stack: tuple[tuple[str, Figures], ...]
    by_team: tuple[tuple[str, Figures], ...]
    slowest: tuple[SlowRoot, ...]
    providers: tuple[ProviderTime, ...]
    stacks: tuple[str, ...]
    teams: tuple[str, ...]


def report(days: Iterable[Day], span: Span, today: date, selection: Selection) -> Report:
    """Return the figures of those days that are in the span."""
    first = span.first(today)
    every = [day for day in days if first <= date.fromisoformat(day.date) <= today]
    chosen = [(day, one) for day in every for one in day.stacks if selection.includes(one)]
    begins = [first + timedelta(days=number) for number in range(0, span.days, span.step)]
    return Report(
        together(one.figures for _, one in chosen),
        tuple(_period(each, span, every, selection) for each in begins),
        _by(chosen, lambda day, _: day.repository),
        _by(chosen, lambda _, one: one.stack),
        _by(chosen, lambda _, one: one.team),
        _slowest(every, selection),
        slowest_providers((one.time for day in every for one in day.providers if selection.includes(one)), MOST_SHOWN),
        tuple(sorted({one.stack for day in every for one in day.stacks})),
        tuple(sorted({one.team for day in every for one in day.stacks})),
    )


def _period(begins: date, span: Span, days: Sequence[Day], selection: Selection) -> Period:
    ends = begins + timedelta(days=span.step)
    within = [day for day in days if begins <= date.fromisoformat(day.date) < ends]
    figures = [one.figures for day in within for one in day.stacks if selection.includes(one)]
    return Period(begins, together(figures), _drift(within, selection) if selection.team is None else None)


def _drift(days: Sequence[Day], selection: Selection) -> Drifted | None:
    """Return what the last run of each schedule saw."""
    last: dict[tuple[str, str, str], DriftSeen] = {}
    for day in sorted(days, key=lambda each: each.date):
        for one in day.drift:
            if selection.stack in (None, one.stack):
                last[day.repository, one.schedule, one.stack] = one
    if not last:
        return None
    return Drifted(sum(one.roots for one in last.values()), max(one.oldest for one in last.values()))


def _by(
    chosen: Iterable[tuple[Day, StackFigures]], name: Callable[[Day, StackFigures], str]
) -> tuple[tuple[str, Figures], ...]:
    groups: defaultdict[str, list[Figures]] = defaultdict(list)
    for day, one in chosen:
        groups[name(day, one)].append(one.figures)
    sums = [(each, together(figures)) for each, figures in groups.items()]
    return tuple(sorted(sums, key=lambda each: (-each[1].attempted, each[0])))


def _slowest(days: Iterable[Day], selection: Selection) -> tuple[SlowRoot, ...]:
    times: defaultdict[str, list[RootTime]] = defaultdict(list)
    for day in days:
        times[day.repository] += [each for each in day.slowest if selection.includes(each)]
    found = [SlowRoot(repository, each) for repository, some in times.items() for each in roots_together(some)]
    return tuple(sorted(found, key=lambda each: -each.time.longest)[:MOST_SHOWN])
