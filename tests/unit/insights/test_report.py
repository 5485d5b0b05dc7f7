"""What days say together."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import REPOSITORY
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.insights.rules.day import Day, DriftSeen, Figures, RootTime, StackFigures, StackProvider
from tidegate.insights.rules.report import MOST_SHOWN, Drifted, Selection, Span, report

TODAY = date(2026, 3, 2)


def any_day(day=TODAY, repository=REPOSITORY, stack="prod", team="", drift=(), slowest=(), **figures):
    return Day(repository, day.isoformat(), (StackFigures(stack, team, Figures(**figures)),), slowest, drift)


def seen(stack="prod", roots=1, oldest=60, schedule="nightly"):
    return DriftSeen(schedule, stack, roots, oldest)


@given(st.sampled_from(Span), st.lists(st.integers(-5, 400), unique=True, max_size=20))
def test_each_day_of_the_span_is_in_one_period(span, ages):
    days = [any_day(date.fromordinal(TODAY.toordinal() - age), applied=1) for age in ages]
    found = report(days, span, TODAY, Selection())
    assert found.total.applied == sum(0 <= age < span.days for age in ages)
    assert sum(each.figures.applied for each in found.periods) == found.total.applied


def test_spans_are_told_apart_by_name():
    assert len({span.label for span in Span}) == len(Span)


def test_figures_are_of_what_is_selected():
    days = [any_day(stack="prod", team="sre", applied=1), any_day(stack="dev", applied=2, failed=3)]
    assert report(days, Span.WEEK, TODAY, Selection(stack="dev")).total.failed == 3
    assert report(days, Span.WEEK, TODAY, Selection(team="sre")).total.applied == 1
    assert report(days, Span.WEEK, TODAY, Selection(team="")).total.applied == 2
    assert report(days, Span.WEEK, TODAY, Selection("dev", "sre")).total == Figures()


def test_sums_are_by_repository_stack_and_team_the_busiest_first():
    days = [any_day(stack="prod", team="sre", applied=1), any_day(stack="dev", repository="acme/web", applied=2)]
    found = report(days, Span.WEEK, TODAY, Selection())
    assert [name for name, _ in found.by_repository] == ["acme/web", REPOSITORY]
    assert [(name, each.applied) for name, each in found.by_stack] == [("dev", 2), ("prod", 1)]
    assert [name for name, _ in found.by_team] == ["", "sre"]
    assert (found.stacks, found.teams) == (("dev", "prod"), ("", "sre"))


def test_drift_is_that_of_the_last_run_of_each_schedule():
    monday, tuesday = date(2026, 2, 24), date(2026, 2, 25)
    days = [
        any_day(tuesday, drift=(seen(oldest=90), seen("dev", roots=4, oldest=30))),
        any_day(monday, drift=(seen(roots=9, oldest=9), seen(schedule="weekly", roots=2, oldest=600))),
    ]
    quarter = [each.drift for each in report(days, Span.QUARTER, TODAY, Selection()).periods]
    assert [each for each in quarter if each] == [Drifted(7, 600)]
    dev = report(days, Span.QUARTER, TODAY, Selection("dev"))
    assert [each.drift for each in dev.periods if each.drift] == [Drifted(4, 30)]
    of_a_team = report(days, Span.QUARTER, TODAY, Selection(team="sre"))
    assert not any(each.drift for each in of_a_team.periods)


def test_the_slowest_roots_of_all_days_are_shown_once():
    times = tuple(RootTime(f"root-{number}", "prod", "", 1, number, number) for number in range(MOST_SHOWN + 2))
    again = RootTime("root-0", "prod", "", 2, 3000, 2000)
    days = [any_day(slowest=times), any_day(date(2026, 3, 1), slowest=(again,))]
    found = report(days, Span.WEEK, TODAY, Selection()).slowest
    assert len(found) == MOST_SHOWN
    assert (found[0].repository, found[0].time) == (REPOSITORY, RootTime("root-0", "prod", "", 3, 3000, 2000))


def test_providers_are_summed_over_days_repositories_and_stacks():
    aws = ProviderTime("hashicorp/aws", 2, 90, 86)
    days = [
        replace(any_day(), providers=(StackProvider("prod", "sre", aws), StackProvider("dev", "", aws))),
        replace(any_day(repository="acme/web"), providers=(StackProvider("prod", "", aws),)),
    ]
    assert report(days, Span.WEEK, TODAY, Selection()).providers == (ProviderTime("hashicorp/aws", 6, 270, 86),)
    assert report(days, Span.WEEK, TODAY, Selection("prod", "sre")).providers == (aws,)
    assert report(days, Span.WEEK, TODAY, Selection("staging")).providers == ()
