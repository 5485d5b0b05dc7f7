"""When schedules run: always at the same time, inside their windows, and not all at once."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tidegate.config.rules.timetable import Interval, Window, timetable

TIMES = st.builds(lambda hour, minute: f"{hour:02}:{minute:02}", st.integers(0, 23), st.integers(0, 59))
WINDOWS = st.builds(Window, TIMES, TIMES, st.just("Europe/Berlin")).filter(lambda window: window.start != window.end)
CRON = re.compile(r"cron\((\S+) (\S+) (\S+) (\S+) (\S+) (\S+)\)")


def minutes(time):
    hour, minute = time.split(":")
    return int(hour) * 60 + int(minute)


def runs(table):
    """Return the minutes of a day at which it runs."""
    minute, hours, *_ = CRON.fullmatch(table.expression).groups()
    every = range(24) if hours == "*" else [int(hour) for hour in hours.split(",")]
    return [hour * 60 + int(minute) for hour in every]


@given(st.text(max_size=20), st.sampled_from(Interval), WINDOWS)
def test_it_runs_inside_its_window(name, interval, window):
    table = timetable(name, interval, window)
    start, length = minutes(window.start), (minutes(window.end) - minutes(window.start)) % 1440
    assert runs(table)
    assert all((at - start) % 1440 < length for at in runs(table))
    assert table.zone == "Europe/Berlin"


@given(st.text(max_size=20), WINDOWS)
def test_hourly_it_runs_in_each_hour_of_its_window(name, window):
    length = (minutes(window.end) - minutes(window.start)) % 1440
    assert len(runs(timetable(name, Interval.HOURLY, window))) in {length // 60, length // 60 + 1}


@given(st.text(max_size=20), st.sampled_from(Interval))
def test_without_a_window_it_runs_at_some_time_of_its_own(name, interval):
    table = timetable(name, interval)
    assert table == timetable(name, interval)
    assert table.zone == "UTC"
    assert len(runs(table)) == (24 if interval is Interval.HOURLY else 1)


@given(st.text(max_size=20))
def test_the_scheduler_wants_a_question_mark_for_one_kind_of_day(name):
    for interval in Interval:
        _, _, day, _, weekday, _ = CRON.fullmatch(timetable(name, interval).expression).groups()
        assert (day == "?") != (weekday == "?")
    day = CRON.fullmatch(timetable(name, Interval.MONTHLY).expression).group(3)
    assert 1 <= int(day) <= 28


def test_schedules_of_many_repositories_are_not_due_at_once():
    expressions = {timetable(f"acme/repository-{number} nightly", Interval.DAILY).expression for number in range(200)}
    assert len(expressions) > 100


def test_people_read_when_it_runs():
    window = Window("22:00", "04:00", "Europe/Berlin")
    assert re.fullmatch(r"daily at 22:\d\d Europe/Berlin", timetable("a", Interval.DAILY, window).words)
    assert re.fullmatch(r"weekly on \w{3} at 22:\d\d Europe/Berlin", timetable("a", Interval.WEEKLY, window).words)
    assert re.fullmatch(r"monthly on day \d+ at \d\d:\d\d UTC", timetable("a", Interval.MONTHLY).words)
    assert re.fullmatch(r"hourly at :\d\d", timetable("a", Interval.HOURLY).words)
    hourly = timetable("a", Interval.HOURLY, window).words
    assert re.fullmatch(r"hourly at :\d\d from 22:00 to 04:00 Europe/Berlin", hourly)
