"""Instants and their one form as text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.instants import utc
from tidegate.aws.records import pack, unpack
from tidegate.rules.timestamp import timestamp_from, timestamp_text

NAIVE = utc("2026-03-02").replace(tzinfo=None)
zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
#: A day from either end, so that each is one of UTC as well.
FIRST, LAST = (utc(day).replace(tzinfo=None) for day in ("0001-01-02", "9999-12-30"))
instants = st.datetimes(FIRST, LAST, timezones=zones | st.just(UTC))


@given(instants)
def test_an_instant_is_read_as_it_was_written(at):
    read = timestamp_from(timestamp_text(at))
    assert (read, read.tzinfo) == (at, UTC)


@given(instants, instants)
def test_texts_stand_in_the_order_of_their_instants(one, other):
    assert (timestamp_text(one) < timestamp_text(other)) is (one < other)


def test_the_text_is_in_utc_with_microseconds():
    assert timestamp_text(utc("2026-03-02T08:00")) == "2026-03-02T08:00:00.000000+00:00"


@pytest.mark.parametrize("text", ["2026-03-02T08:00:00Z", "2026-03-02T09:00+01:00", "2026-03-02T08:00:00.000+00:00"])
def test_what_others_write_is_read(text):
    assert timestamp_from(text) == utc("2026-03-02T08:00")


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("2026-03-02T08:00:00", "add a time zone"),
        (NAIVE, "add a time zone"),
        ("yesterday", "write it in ISO 8601"),
        ("", "write it in ISO 8601"),
        (5, "write it in ISO 8601"),
        ("0001-01-01T00:00:00+01:00", "write it in ISO 8601"),
    ],
)
def test_what_is_no_timestamp_is_refused(value, why):
    with pytest.raises(ValueError, match=why):
        timestamp_from(value)


def test_a_datetime_without_a_zone_is_not_written():
    with pytest.raises(ValueError, match="add a time zone"):
        timestamp_text(NAIVE)


@dataclass(frozen=True)
class _Seen:
    at: datetime
    until: datetime | None = None
    by: tuple[datetime, ...] = ()


@given(st.builds(_Seen, instants, st.none() | instants, st.lists(instants, max_size=2).map(tuple)))
def test_records_hold_instants_as_text(seen):
    packed = pack(seen)
    assert packed["at"] == timestamp_text(seen.at)
    assert unpack(_Seen, packed) == seen
