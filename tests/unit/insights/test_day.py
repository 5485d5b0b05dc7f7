"""The figures of a day: they add up, and stay small."""

from __future__ import annotations

import json
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, REPOSITORY
from tidegate.aws.records import pack, unpack
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.insights.rules.day import (
    MOST_PROVIDERS,
    MOST_ROOTS,
    MOST_STACKS,
    OTHERS,
    Day,
    DriftSeen,
    Figures,
    StackProvider,
    with_drift,
    with_ended,
)
from tidegate.insights.rules.ended import Ended, Result

LARGEST = 30_000


def provider(name="hashicorp/aws", longest=60, changes=1, seconds=None):
    return ProviderTime(name, changes, seconds or longest, longest)


times = st.none() | st.floats(0, 10**7)
many_ended = st.lists(
    st.builds(
        Ended,
        st.just(NOW),
        st.integers(0, 30).map(lambda number: f"{number:02}-{'root' * 24}"),
        st.integers(0, 30).map(lambda number: f"{number:02}-{'stack' * 10}"),
        st.sampled_from(["", "sre", "web"]),
        st.sampled_from(Result),
        times,
        times,
        times,
        times,
        st.integers(0, 10**9),
        st.lists(st.integers(0, 12).map(lambda number: provider(f"{number:02}{'x' * 98}", number)), max_size=10).map(
            tuple
        ),
    ),
    max_size=60,
)


def any_ended(**fields):
    given = {"at": NOW, "root": "network", "stack": "prod", "team": "", "result": Result.APPLIED}
    return Ended(**{**given, **dict.fromkeys(("lead", "queue", "review", "run")), "cost": 0, **fields})


def day_of(every):
    return reduce(with_ended, every, Day(REPOSITORY, "2026-03-02"))


@given(many_ended)
def test_each_counts_once_in_one_stack_and_a_day_is_stored_as_it_is(every):
    day = day_of(every)
    counted = [one.figures.attempted + one.figures.other for one in day.stacks]
    assert sum(counted) == len(every)
    assert sum(one.figures.cost for one in day.stacks) == sum(one.cost for one in every)
    assert unpack(Day, pack(day)) == day


@given(many_ended)
def test_a_day_stays_small(every):
    day = day_of(every)
    assert len(day.stacks) <= MOST_STACKS + 1
    assert len(day.slowest) <= MOST_ROOTS
    assert len(day.providers) <= MOST_PROVIDERS
    assert len(json.dumps(pack(day))) < LARGEST


def test_stacks_beyond_the_limit_count_together():
    day = day_of([any_ended(stack=f"stack-{number}") for number in range(MOST_STACKS + 3)])
    assert {one.stack: one.figures.applied for one in day.stacks}[OTHERS] == 3
    again = with_ended(day, any_ended(stack="stack-0"))
    assert {one.stack: one.figures.applied for one in again.stacks}["stack-0"] == 2


def test_the_slowest_roots_are_those_with_the_longest_runs():
    day = day_of([any_ended(root=f"root-{number}", run=number) for number in range(30)])
    assert [each.root for each in day.slowest] == [f"root-{number}" for number in range(29, 29 - MOST_ROOTS, -1)]
    assert with_ended(day, any_ended(root="root-29", run=31.0)).slowest[0].runs == 2


def test_providers_are_summed_by_stack_and_team():
    every = [any_ended(providers=(provider(longest=60), provider("hashicorp/null", 1))), any_ended(stack="dev")]
    every += [any_ended(providers=(provider(longest=86),)), any_ended(team="sre", providers=(provider(longest=70),))]
    assert day_of(every).providers == (
        StackProvider("prod", "", ProviderTime("hashicorp/aws", 2, 146, 86)),
        StackProvider("prod", "sre", ProviderTime("hashicorp/aws", 1, 70, 70)),
        StackProvider("prod", "", ProviderTime("hashicorp/null", 1, 1, 1)),
    )


def test_the_slowest_providers_are_those_with_the_longest_changes():
    day = day_of([any_ended(providers=(provider(f"acme/{number}", number),)) for number in range(30)])
    assert [each.time.longest for each in day.providers] == list(range(29, 29 - MOST_PROVIDERS, -1))
    others = day_of(any_ended(stack=f"stack-{number}", providers=(provider(),)) for number in range(MOST_STACKS + 3))
    assert OTHERS in {
        each.stack for each in with_ended(others, any_ended(stack="new", providers=(provider("x", 99),))).providers
    }


def test_the_failure_rate_is_of_what_was_attempted():
    day = day_of([any_ended(result=result) for result in Result])
    assert day.stacks[0].figures.failure_rate == 1 / 3
    assert Figures(other=4).failure_rate is None


def test_cost_is_counted_in_millionths_of_a_dollar():
    assert day_of([any_ended(cost=1_500_000), any_ended(cost=250_000)]).stacks[0].figures.dollars == 1.75


def test_a_schedules_last_run_of_the_day_counts():
    day = with_drift(Day(REPOSITORY, "2026-03-02"), "nightly", [DriftSeen("nightly", "prod", 2, 600)])
    day = with_drift(day, "hourly", [DriftSeen("hourly", "prod", 1, 60)])
    day = with_drift(day, "nightly", [DriftSeen("nightly", "prod", 0, 0)])
    assert {(each.schedule, each.roots) for each in day.drift} == {("nightly", 0), ("hourly", 1)}
