"""How long ago something was."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW
from tidegate.texts.durations import duration
from tidegate.web.ages import age, relative


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(seconds=59), "now"),
        (timedelta(minutes=59), "59 min"),
        (timedelta(hours=23, minutes=59), "23 h"),
        (timedelta(days=8), "8 d"),
        (-timedelta(seconds=5), "now"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(passed, told):
    assert age(NOW, NOW + passed) == told


@pytest.mark.parametrize(
    ("passed", "told"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(hours=3), "3 h ago"),
        (-timedelta(days=6, hours=1), "in 6 d"),
        (-timedelta(seconds=5), "in less than 1 min"),
        (timedelta(days=30), "2026-03-02"),
    ],
)
def test_a_time_is_told_as_seen_from_now(passed, told):
    assert relative(NOW, NOW + passed) == told


@pytest.mark.parametrize(
    ("took", "told"),
    [
        (timedelta(milliseconds=900), "0 s"),
        (timedelta(seconds=125), "2 min 5 s"),
        (timedelta(hours=3), "3 h"),
        (timedelta(days=2, hours=4, seconds=9), "2 d 4 h"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(took, told):
    assert duration(took) == told
