"""Durations as counts in ranges."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tidegate.insights.rules.histogram import ENDS, Histogram, added

seconds = st.lists(st.floats(0, ENDS[-1]), min_size=1, max_size=40)


def of(durations):
    return added(Histogram().with_one(each) for each in durations)


def width(value):
    """Return the width of the range that a duration is in."""
    place = next(place for place, end in enumerate(ENDS) if value <= end)
    return ENDS[place] - (ENDS[place - 1] if place else 0)


@given(seconds, st.sampled_from([50, 90]))
def test_a_percentile_is_in_the_range_of_a_duration_that_as_many_do_not_exceed(durations, percent):
    found = of(durations).percentile(percent)
    exact = sorted(durations)[max(0, -(-len(durations) * percent // 100) - 1)]
    assert abs(found - exact) <= width(exact)


@given(seconds, seconds)
def test_a_sum_is_the_histogram_of_all(first, second):
    assert of(first).plus(of(second)) == of([*first, *second])


@given(seconds)
def test_a_histogram_has_a_count_for_each_range_at_most(durations):
    found = of(durations)
    assert found.total == len(durations)
    assert len(found.counts) <= len(ENDS) + 1


def test_a_range_ends_at_most_two_thirds_above_its_begin():
    assert all(end / begin <= 5 / 3 for begin, end in pairwise(ENDS))


def test_without_durations_there_is_no_median():
    assert Histogram().percentile(50) is None
    assert Histogram().with_one(None) == Histogram()


def test_durations_beyond_the_last_range_count_as_its_begin():
    assert of([10 * ENDS[-1]]).percentile(50) == ENDS[-1]
