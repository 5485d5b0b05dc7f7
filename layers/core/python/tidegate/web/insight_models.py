"""What the HTTP API says of figures."""

from __future__ import annotations

from pydantic import Field

from tidegate.insights.rules.day import Figures
from tidegate.insights.rules.histogram import Histogram
from tidegate.insights.rules.report import Report
from tidegate.web.models import Shown


class Duration(Shown):
    """How long something took, in seconds, by interpolation within the ranges that docs/insights.md lists."""

    count: int
    median: float | None
    p90: float | None


class FiguresModel(Shown):
    """How deployments ended, how long they took, and what their runners cost."""

    applied: int
    unchanged: int = Field(description="The plan had nothing to change")
    failed: int
    other: int = Field(description="Rejected, refused, superseded, cancelled, expired, or stopped by a policy")
    failure_rate: float | None = Field(description="failed / (applied + unchanged + failed)")
    lead_time: Duration = Field(description="From the merge to the end of the apply")
    queue_time: Duration
    review_wait: Duration
    run_time: Duration = Field(description="Plan and apply")
    cost_usd: float


class NamedFigures(FiguresModel):
    """The figures of a repository, stack or team; the name is empty for roots without a team."""

    name: str


class PeriodModel(FiguresModel):
    """The figures of some days."""

    begins: str = Field(description="The first day, ISO 8601, in UTC")
    drifted_roots: int | None = Field(description="At the end; null if no schedule ran, or for one team")
    oldest_drift: int | None = Field(description="Its age in seconds")


class SlowRootModel(Shown):
    """One of the slowest roots, by its longest run; durations in seconds."""

    repository: str
    root: str
    stack: str
    runs: int
    mean: float
    longest: int


class SlowProviderModel(Shown):
    """One of the providers whose resources took longest to create, modify or destroy; durations in seconds."""

    provider: str
    changes: int = Field(description="How often a resource was created, modified or destroyed")
    total: int
    mean: float
    longest: int


class InsightsModel(Shown):
    """The figures of a span of time."""

    total: FiguresModel
    periods: list[PeriodModel]
    repositories: list[NamedFigures]
    stacks: list[NamedFigures]
    teams: list[NamedFigures]
    slowest_roots: list[SlowRootModel]
    slowest_providers: list[SlowProviderModel]
    left_out: list[str] = Field(description="Repositories that were not read completely: ask for them alone")
    unchecked: int = Field(description="How many repositories your permission was not checked for yet")


def insights_model(found: Report, left_out: list[str], unchecked: int) -> InsightsModel:
    """Return a report as the API shows it."""
    return InsightsModel(
        total=FiguresModel(**_fields(found.total)),
        periods=[
            PeriodModel(
                begins=each.begins.isoformat(),
                drifted_roots=each.drift.roots if each.drift else None,
                oldest_drift=each.drift.oldest if each.drift else None,
                **_fields(each.figures),
            )
            for each in found.periods
        ],
        repositories=_named(found.by_repository),
        stacks=_named(found.by_stack),
        teams=_named(found.by_team),
        slowest_roots=[
            SlowRootModel(
                repository=each.repository,
                root=each.time.root,
                stack=each.time.stack,
                runs=each.time.runs,
                mean=each.time.seconds / each.time.runs,
                longest=each.time.longest,
            )
            for each in found.slowest
        ],
        slowest_providers=[
            SlowProviderModel(
                provider=each.provider,
                changes=each.changes,
                total=each.seconds,
                mean=each.seconds / each.changes,
                longest=each.longest,
            )
            for each in found.providers
        ],
        left_out=left_out,
        unchecked=unchecked,
    )


def _named(sums: tuple[tuple[str, Figures], ...]) -> list[NamedFigures]:
    return [NamedFigures(name=name, **_fields(figures)) for name, figures in sums]


def _fields(figures: Figures) -> dict[str, object]:
    return {
        "applied": figures.applied,
        "unchanged": figures.unchanged,
        "failed": figures.failed,
        "other": figures.other,
        "failure_rate": figures.failure_rate,
        "lead_time": _duration(figures.lead),
        "queue_time": _duration(figures.queue),
        "review_wait": _duration(figures.review),
        "run_time": _duration(figures.run),
        "cost_usd": figures.dollars,
    }


def _duration(histogram: Histogram) -> Duration:
    return Duration(count=histogram.total, median=histogram.percentile(50), p90=histogram.percentile(90))
