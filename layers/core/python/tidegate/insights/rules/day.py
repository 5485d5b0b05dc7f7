"""The figures of a repository on one day (UTC): an item that stays small, however much is deployed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tidegate.deploys.rules.provider_time import ProviderTime, slowest_providers
from tidegate.insights.rules.ended import Ended, Result
from tidegate.insights.rules.histogram import Histogram, added

#: Stacks, with their teams, that a day tells apart; later ones count as ``OTHERS``.
MOST_STACKS = 20
OTHERS = "(others)"
#: Roots that a day keeps, the slowest ones.
MOST_ROOTS = 10
#: Providers in a stack of a team that a day keeps, the slowest ones.
MOST_PROVIDERS = 20
#: Drift schedules in each stack that a day keeps.
MOST_SCHEDULES = 20


@dataclass(frozen=True, slots=True)
class Figures:
    """How many deployments ended how, how long they took in seconds, and millionths of dollars."""

    applied: int = 0
    unchanged: int = 0
    failed: int = 0
    other: int = 0
    lead: Histogram = field(default_factory=Histogram)
    queue: Histogram = field(default_factory=Histogram)
    review: Histogram = field(default_factory=Histogram)
    run: Histogram = field(default_factory=Histogram)
    cost: int = 0

    @property
    def attempted(self) -> int:
        """How many began: they applied, had nothing to change, or failed."""
        return self.applied + self.unchanged + self.failed

    @property
    def dollars(self) -> float:
        """What their runners cost."""
        return self.cost / 1_000_000

    @property
    def failure_rate(self) -> float | None:
        """The share that failed of what was attempted, None without attempts."""
        return self.failed / self.attempted if self.attempted else None


@dataclass(frozen=True, slots=True)
class StackFigures:
    """The figures of a stack's roots of one team; the team is empty for roots without one."""

    stack: str
    team: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class RootTime:
    """How often a root ran in a stack, for how long in all, and at most, in seconds."""

    root: str
    stack: str
    team: str
    runs: int
    seconds: int
    longest: int


@dataclass(frozen=True, slots=True)
class StackProvider:
    """How long a provider took in the applies of a stack's roots of one team."""

    stack: str
    team: str
    time: ProviderTime


@dataclass(frozen=True, slots=True)
class DriftSeen:
    """Drift in a stack after a schedule's last run of the day: how many roots, and the oldest, in seconds."""

    schedule: str
    stack: str
    roots: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Day:
    """A repository's day, ``2026-03-02``. ``version`` counts writes; an unwritten one has version 0."""

    repository: str
    date: str
    stacks: tuple[StackFigures, ...] = ()
    slowest: tuple[RootTime, ...] = ()
    drift: tuple[DriftSeen, ...] = ()
    providers: tuple[StackProvider, ...] = ()
    version: int = 0


def with_ended(day: Day, one: Ended) -> Day:
    """Return the day with one more ended deployment."""
    known = {(each.stack, each.team): each for each in day.stacks}
    key = (one.stack, one.team)
    if key not in known and len(known) >= MOST_STACKS:
        key = (OTHERS, "")
    before = known.get(key, StackFigures(*key, Figures()))
    known[key] = replace(before, figures=together([before.figures, _figures(one)]))
    return replace(
        day,
        stacks=tuple(known.values()),
        slowest=_slowest([*day.slowest, *_root_time(one)]),
        providers=_slowest_providers([*day.providers, *(StackProvider(*key, each) for each in one.providers)]),
    )


def with_drift(day: Day, schedule: str, seen: Iterable[DriftSeen]) -> Day:
    """Return the day with what a schedule's newest run saw, in place of earlier runs."""
    others = [each for each in day.drift if each.schedule != schedule]
    return replace(day, drift=(*others, *seen)[-MOST_SCHEDULES:])


def together(figures: Iterable[Figures]) -> Figures:
    """Return the sum."""
    every = list(figures)
    return Figures(
        applied=sum(each.applied for each in every),
        unchanged=sum(each.unchanged for each in every),
        failed=sum(each.failed for each in every),
        other=sum(each.other for each in every),
        lead=added(each.lead for each in every),
        queue=added(each.queue for each in every),
        review=added(each.review for each in every),
        run=added(each.run for each in every),
        cost=sum(each.cost for each in every),
    )


def roots_together(times: Iterable[RootTime]) -> list[RootTime]:
    """Return one entry for each root in its stack, the longest run first."""
    found: dict[tuple[str, str], RootTime] = {}
    for one in times:
        before = found.get((one.root, one.stack))
        found[one.root, one.stack] = _joined(before, one) if before else one
    return sorted(found.values(), key=lambda each: (-each.longest, each.root, each.stack))


def _joined(before: RootTime, one: RootTime) -> RootTime:
    runs, seconds = before.runs + one.runs, before.seconds + one.seconds
    return replace(one, runs=runs, seconds=seconds, longest=max(before.longest, one.longest))


def _slowest(times: Iterable[RootTime]) -> tuple[RootTime, ...]:
    return tuple(roots_together(times)[:MOST_ROOTS])


def _slowest_providers(times: Iterable[StackProvider]) -> tuple[StackProvider, ...]:
    groups: defaultdict[tuple[str, str], list[ProviderTime]] = defaultdict(list)
    for one in times:
        groups[one.stack, one.team].append(one.time)
    sums = [
        StackProvider(*key, each) for key, some in groups.items() for each in slowest_providers(some, MOST_PROVIDERS)
    ]
    return tuple(sorted(sums, key=lambda each: -each.time.longest)[:MOST_PROVIDERS])


def _root_time(one: Ended) -> list[RootTime]:
    if one.run is None:
        return []
    return [RootTime(one.root, one.stack, one.team, 1, round(one.run), round(one.run))]


def _figures(one: Ended) -> Figures:
    counted = {one.result.value: 1}
    return Figures(
        **counted,
        lead=Histogram().with_one(one.lead),
        queue=Histogram().with_one(one.queue),
        review=Histogram().with_one(one.review),
        run=Histogram().with_one(one.run if one.result is not Result.OTHER else None),
        cost=one.cost,
    )
