"""Recurring times: an interval and a window of hours as an EventBridge Scheduler expression.

Minutes, hours and days derive from the name, which spreads the load and keeps each schedule's time stable.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum

_HOUR, _DAY = 60, 24 * 60
_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
#: Every month has these days.
_DAYS_OF_MONTHS = 28
_ALL_HOURS = 24


class Interval(StrEnum):
    """How often roots are checked for drift."""

    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


@dataclass(frozen=True, slots=True)
class Window:
    """Hours of a day in which a schedule runs: ``HH:MM``, and a time zone by its name."""

    start: str
    end: str
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule's ``cron(…)`` expression, the time zone that it is meant in, and both in words for people."""

    expression: str
    zone: str
    words: str


def timetable(name: str, interval: Interval, window: Window | None = None) -> Timetable:
    """Return the times for this name. In a window, the start is in its first hour, if that is long enough."""
    own = int(hashlib.sha256(name.encode()).hexdigest(), 16)
    start, length = _span(window)
    first = (start + own % (_DAY if window is None else min(length, _HOUR))) % _DAY
    hour, minute = divmod(first, _HOUR)
    zone = window.zone if window else "UTC"
    hours = _hours(start, length, first)
    weekday = _WEEKDAYS[own // _DAY % len(_WEEKDAYS)]
    day = own // _DAY % _DAYS_OF_MONTHS + 1
    at = f"at {hour:02}:{minute:02} {zone}"
    match interval:
        case Interval.HOURLY:
            every = "*" if len(hours) == _ALL_HOURS else ",".join(map(str, hours))
            between = f" from {window.start} to {window.end} {zone}" if window else ""
            return Timetable(f"cron({minute} {every} * * ? *)", zone, f"hourly at :{minute:02}{between}")
        case Interval.DAILY:
            return Timetable(f"cron({minute} {hour} * * ? *)", zone, f"daily {at}")
        case Interval.WEEKLY:
            words = f"weekly on {weekday.capitalize()} {at}"
            return Timetable(f"cron({minute} {hour} ? * {weekday} *)", zone, words)
        case _:
            return Timetable(f"cron({minute} {hour} {day} * ? *)", zone, f"monthly on day {day} {at}")


def _span(window: Window | None) -> tuple[int, int]:
    """Return when a window begins, and how long it is, in minutes."""
    if window is None:
        return 0, _DAY
    start = _minutes(window.start)
    return start, (_minutes(window.end) - start) % _DAY or _DAY


def _hours(start: int, length: int, first: int) -> list[int]:
    """Return the hours of which the minute of ``first`` lies in a window."""
    minute = first % _HOUR
    inside = ((hour * _HOUR + minute - start) % _DAY < length for hour in range(_ALL_HOURS))
    return [hour for hour, is_inside in enumerate(inside) if is_inside]


def _minutes(time: str) -> int:
    hours, minutes = time.split(":")
    return int(hours) * _HOUR + int(minutes)
