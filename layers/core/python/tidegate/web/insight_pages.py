"""The figures of deployments: a page with charts, a CSV file, and the API."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from io import StringIO
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from tidegate.insights.get_insights import Found, get_insights
from tidegate.insights.rules.day import Day, Figures, StackFigures, StackProvider
from tidegate.insights.rules.histogram import Histogram
from tidegate.insights.rules.report import Period, Report, Selection, Span, report
from tidegate.insights.texts.figures import cell, dollars, lasting, percent
from tidegate.ports import Ports
from tidegate.web.api import described
from tidegate.web.authorization import Authorization
from tidegate.web.charts import Chart, Series, rows
from tidegate.web.insight_models import InsightsModel, insights_model
from tidegate.web.readable import Readable, newest, readable
from tidegate.web.rendering import Rendering
from tidegate.web.request_models import RepositoryName

#: How the spans read.
SPANS = {Span.WEEK: "7 days", Span.MONTH: "30 days", Span.QUARTER: "13 weeks", Span.YEAR: "52 weeks"}
_USUAL = Span.MONTH
#: What the form and the API call roots without a team.
NO_TEAM = "-"
_LONGEST_NAME = 200
_TIMES = ("lead", "queue", "review", "run")
_Name = Annotated[str, Query(max_length=_LONGEST_NAME)]


class InsightPages:
    """Adds the routes to a resolver."""

    def __init__(self, ports: Ports, authorization: Authorization, rendering: Rendering) -> None:
        self._ports, self._authorization, self._rendering = ports, authorization, rendering

    def add_to(self, app: APIGatewayHttpResolver) -> None:
        """Register the routes."""
        hidden: dict[str, Any] = {"include_in_schema": False, "enable_validation": False}
        app.get("/insights", **hidden)(lambda: self._page(app))
        app.get("/insights/csv", **hidden)(lambda: self._csv(app))

        @app.get(
            "/api/v1/insights",
            summary="Figures of the deployments of a repository, or of all that you may read: frequency, lead time, "
            "waits, failure rate, drift and cost",
            tags=["insights"],
            responses=described(200, "Figures", InsightsModel, 404),
        )
        def insights(
            repository: Annotated[RepositoryName | None, Query()] = None,  # noqa: ARG001  # Read by the authorization.
            span: Annotated[Literal["7d", "30d", "13w", "52w"], Query(description="Days or weeks until now")] = "30d",
            stack: _Name = "",
            team: Annotated[str, Query(max_length=_LONGEST_NAME, description="`-` for roots without a team")] = "",
        ) -> InsightsModel:
            asked = {"span": span, "stack": stack, "team": team}
            allowed, found = self._found(app, asked)
            return insights_model(self._report(found, asked), list(found.left_out), allowed.unchecked)

    def _found(self, app: APIGatewayHttpResolver, asked: dict[str, str]) -> tuple[Readable, Found]:
        """Return what somebody may read, and the days that are asked for."""
        access = app.context["access"]
        allowed = readable(self._ports.repository_index, self._authorization, access.login)
        names = [each.name for each in newest(allowed.repositories, len(allowed.repositories))]
        chosen = [access.repository] if access.repository else names
        return allowed, get_insights(self._ports, chosen, _span(asked))

    def _report(self, found: Found, asked: dict[str, str]) -> Report:
        return report(found.days, _span(asked), self._ports.clock.now().date(), _selection(asked))

    def _page(self, app: APIGatewayHttpResolver) -> Response[str]:
        asked = app.context["fields"]
        allowed, found = self._found(app, asked)
        shown, span = self._report(found, asked), _span(asked)
        return self._rendering.show(
            app,
            "insights.html",
            allowed=allowed,
            repository=app.context["access"].repository,
            left_out=found.left_out,
            shown=shown,
            span=span,
            spans=SPANS,
            stack=asked.get("stack", ""),
            team=asked.get("team", ""),
            no_team=NO_TEAM,
            has_days=bool(found.days),
            charts=[each for each in charts(shown.periods, span) if not each.is_empty],
            rows=rows,
            lasting=lasting,
            dollars=dollars,
            percent=percent,
        )

    def _csv(self, app: APIGatewayHttpResolver) -> Response[str]:
        asked = app.context["fields"]
        _, found = self._found(app, asked)
        of_providers = asked.get("table") == "providers"
        text = (providers_csv if of_providers else as_csv)(found.days, _selection(asked))
        name = "insights-providers.csv" if of_providers else "insights.csv"
        header = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(200, "text/csv; charset=utf-8", text, header)


def charts(periods: Sequence[Period], span: Span) -> list[Chart]:
    """Return the charts of a report."""
    labels = tuple(_label(each, span) for each in periods)

    def series(name: str, look: str, value: Callable[[Period], float | None]) -> Series:
        return Series(name, look, tuple(value(each) for each in periods))

    def time(field: str, title: str, note: str) -> Chart:
        nine = series("90 % within", "wide", lambda each: _histogram(each.figures, field).percentile(90))
        half = series("median", "narrow", lambda each: _histogram(each.figures, field).percentile(50))
        return Chart(field, title, note, labels, (nine, half), lasting)

    return [
        Chart(
            "frequency",
            "Deployments",
            "Applied ones, and on top of them failed ones.",
            labels,
            (
                series("applied", "good", lambda each: each.figures.applied),
                series("failed", "bad", lambda each: each.figures.failed),
            ),
            _count,
            stacked=True,
        ),
        time("lead", "Lead time", "From the merge to the end of the apply."),
        Chart(
            "failures",
            "Failure rate",
            "What failed of what was attempted.",
            labels,
            (series("failed", "bad", lambda each: each.figures.failure_rate),),
            percent,
        ),
        time("review", "Wait for review", "Until somebody approved or rejected."),
        time("queue", "Time in the queue", "Until the deployment was first in its root's queue."),
        time("run", "Plan and apply", "With the wait for a runner."),
        Chart(
            "drift",
            "Oldest drift",
            "After the last run of each drift schedule.",
            labels,
            (series("age", "narrow", lambda each: each.drift.oldest if each.drift else None),),
            lasting,
        ),
        Chart(
            "cost",
            "Cost of runners",
            "At the prices of Fargate in us-east-1.",
            labels,
            (series("dollars", "narrow", lambda each: each.figures.dollars),),
            dollars,
        ),
    ]


def as_csv(days: Iterable[Day], selection: Selection) -> str:
    """Return a line for each day, repository, stack and team; durations in seconds."""
    head = ["applied", "unchanged", "failed", "other"]
    head += [f"{name}_{which}" for name in _TIMES for which in ("median", "p90")]
    return _lines(
        [*head, "cost_usd"], days, lambda day: [(one, _numbers(one.figures)) for one in day.stacks], selection
    )


def providers_csv(days: Iterable[Day], selection: Selection) -> str:
    """Return a line for each day, repository, stack, team and provider; durations in seconds."""
    return _lines(
        ["provider", "changes", "total", "longest"],
        days,
        lambda day: [
            (one, [cell(one.time.provider), one.time.changes, one.time.seconds, one.time.longest])
            for one in day.providers
        ],
        selection,
    )


def _lines(
    head: Sequence[str],
    days: Iterable[Day],
    values: Callable[[Day], Iterable[tuple[StackFigures | StackProvider, Sequence[object]]]],
    selection: Selection,
) -> str:
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(["date", "repository", "stack", "team", *head])
    for day in sorted(days, key=lambda each: (each.date, each.repository)):
        for one, cells in values(day):
            if selection.includes(one):
                names = [cell(each) for each in (day.repository, one.stack, one.team)]
                writer.writerow([day.date, *names, *cells])
    return text.getvalue()


def _count(number: float) -> str:
    return f"{number:.0f}"


def _histogram(figures: Figures, field: str) -> Histogram:
    found: Histogram = getattr(figures, field)
    return found


def _label(period: Period, span: Span) -> str:
    if span.step == 1:
        return f"{period.begins.day} {period.begins:%b}"
    ends = period.begins + timedelta(days=span.step - 1)
    return f"{period.begins.day} {period.begins:%b}\N{EN DASH}{ends.day} {ends:%b}"


def _numbers(figures: Figures) -> list[str | int | float | None]:
    times = [_histogram(figures, name).percentile(each) for name in _TIMES for each in (50, 90)]
    counts = [figures.applied, figures.unchanged, figures.failed, figures.other]
    return [*counts, *(None if each is None else round(each) for each in times), figures.dollars]


def _span(asked: dict[str, str]) -> Span:
    return next((each for each in Span if each.label == asked.get("span")), _USUAL)


def _selection(asked: dict[str, str]) -> Selection:
    team = asked.get("team", "")
    return Selection(asked.get("stack") or None, None if not team else "" if team == NO_TEAM else team)
