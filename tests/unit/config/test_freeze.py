"""Freeze windows in the file: what they may say, and when one holds."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import any_root
from tests.configuration import load, refusal
from tests.instants import utc
from tidegate.config.freezes import frozen_until, longest_hold
from tidegate.deploys.rules.freeze import Freeze
from tidegate.roots.rules.terms import tagged

ONCE = "freeze: [{from: 2026-12-20T18:00:00+01:00, until: '2027-01-04T07:00:00Z', tag_query: prod, reason: holidays}]\n"
WEEKENDS = "freeze: [{cron: 0 16 * * FRI, duration: 64h, timezone: Europe/Berlin}]\n"


def test_a_window_has_its_moments_in_utc_its_roots_and_its_reason():
    (window,) = load(ONCE).freezes
    begins, ends = utc("2026-12-20T17:00"), utc("2027-01-04T07:00")
    assert window == Freeze("prod", "holidays", begins, ends)
    assert window.line == 1
    assert "2026" in window.words
    assert (window.matches(tagged(any_root(), ["prod"])), window.matches(tagged(any_root()))) == (True, False)
    assert load("freeze: []\n").freezes == ()


def test_a_recurring_window_has_a_cron_expression_a_duration_and_a_time_zone():
    (window,) = load(WEEKENDS).freezes
    assert window == Freeze(cron="0 16 * * FRI", minutes=64 * 60, zone="Europe/Berlin")
    assert "64 h from each start" in window.words
    (short,) = load("freeze: [{cron: 0 0 1 1 *, duration: 90m}]\n").freezes
    assert short.words.startswith("1 h 30 min from each")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ("{from: 2026-12-20, until: '2027-01-04T07:00:00Z'}", "is not a timestamp"),
        ("{from: '2026-12-20T18:00:00', until: '2027-01-04T07:00:00Z'}", "Write a date, a time and"),
        ("{from: [], until: '2027-01-04T07:00:00Z'}", "is not a timestamp"),
        ("{from: '2027-01-05T07:00:00Z', until: '2027-01-04T07:00:00Z'}", "the freeze ends before it starts"),
        ("{from: '2027-01-05T07:00:00Z'}", "a freeze needs a start and"),
        ("{reason: a}", "a freeze needs a start and"),
        ("{cron: 0 16 * * FRI}", "a recurring freeze needs cron and"),
        ("{duration: 2h}", "a recurring freeze needs cron and"),
        ("{cron: 0 16 * * FRI, duration: 2h, until: '2027-01-04T07:00:00Z'}", "a freeze is either one-time or"),
        ("{cron: 0 25 * * *, duration: 2h}", "is not a cron expression: Bad hour"),
        ("{cron: often, duration: 2h}", "Write minute, hour"),
        ("{cron: 0 16 * * FRI, duration: 2 hours}", "is not a duration"),
        ("{cron: 0 16 * * FRI, duration: 2h, timezone: Mars/Olympus}", "unknown time zone"),
        ("{cron: 0 16 * * FRI, duration: 2h, tag_query: 'branch:hot'}", "a freeze selects roots, but"),
        ("{cron: 0 16 * * FRI, duration: 2h, only: prod}", "only"),
        ("{from: '2026-12-01T00:00:00Z', until: '2026-12-22T00:01:00Z'}", "more than 21 days"),
        ("{cron: 0 0 1 * *, duration: 22d}", "more than 21 days"),
        ("{cron: 0 0 * 12 *, duration: 24h}", "more than 21 days"),
        ("{cron: 0 * * * *, duration: 90m}", "Shorten it"),
        ("{cron: '* * * * *', duration: 1m}", "more than 21 days"),
    ],
)
def test_what_a_window_cannot_be_is_told(window, words):
    assert words in str(refusal(f"freeze: [{window}]\n"))


def test_a_window_may_hold_as_long_as_what_waits_for_it():
    assert longest_hold(load("freeze: [{cron: 0 0 1 * *, duration: 21d}]\n").freezes[0]) == timedelta(days=21)
    assert longest_hold(load(WEEKENDS).freezes[0]) == timedelta(hours=64)
    assert longest_hold(load(ONCE).freezes[0]) == timedelta(days=14, hours=14)
    (never,) = load("freeze: [{cron: 0 0 29 2 *, duration: 1h}]\n").freezes
    assert longest_hold(never) == timedelta(hours=1)


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (utc("2026-12-20T16:59:59.999999"), None),
        (utc("2026-12-20T17:00"), utc("2027-01-04T07:00")),
        (utc("2027-01-04T06:59:59"), utc("2027-01-04T07:00")),
        (utc("2027-01-04T07:00"), None),
    ],
)
def test_a_window_holds_from_its_beginning_until_before_its_end(now, until):
    assert frozen_until(load(ONCE).freezes[0], now) == until


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (utc("2026-03-27T14:59:59.999999"), None),
        (utc("2026-03-27T15:00"), utc("2026-03-30T07:00")),
        (utc("2026-03-30T06:59"), utc("2026-03-30T07:00")),
        (utc("2026-03-30T07:00"), None),
        (utc("2026-07-03T14:00:30"), utc("2026-07-06T06:00")),
    ],
)
def test_a_recurring_window_begins_by_the_clock_of_its_zone_and_takes_its_time(now, until):
    assert frozen_until(load(WEEKENDS).freezes[0], now) == until


def test_windows_that_begin_before_others_end_hold_until_the_last_ends():
    (window,) = load("freeze: [{cron: 0 8-18 * * *, duration: 90m}]\n").freezes
    assert frozen_until(window, utc("2026-03-02T10:10")) == utc("2026-03-02T11:30")
