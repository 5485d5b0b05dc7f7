"""Freeze windows in time. Recurring ones follow a cron expression in their time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim

from tidegate.deploys.rules.freeze import Freeze
from tidegate.rules.timestamp import LONG_AGO

_MINUTE = timedelta(minutes=1)
#: A leap year; this many beginnings are computed.
_YEAR, _AFTER, _MOST = 2028, 2029, 40_000


def frozen_until(freeze: Freeze, now: datetime) -> datetime | None:
    """Return when the window ends that holds at ``now``, None where none holds."""
    if not freeze.cron:
        begins, ends = _limits(freeze)
        return ends if begins <= now < ends else None
    # What begins in this minute has begun.
    local = (now.replace(second=0, microsecond=0) + _MINUTE).astimezone(ZoneInfo(freeze.zone))
    begun: datetime | None = next(CronSim(freeze.cron, local, reverse=True), None)
    end = begun.astimezone(UTC) + timedelta(minutes=freeze.minutes) if begun else now
    return end if end > now else None


def _limits(freeze: Freeze) -> tuple[datetime, datetime]:
    """Return when a window that is no recurring one begins and ends."""
    return freeze.begins or LONG_AGO, freeze.ends or LONG_AGO


def longest_hold(freeze: Freeze) -> timedelta:
    """Return how long the window lasts at most without a break; for a recurring one, within a year."""
    if not freeze.cron:
        begins, ends = _limits(freeze)
        return ends - begins
    zone, takes = ZoneInfo(freeze.zone), timedelta(minutes=freeze.minutes)
    every = islice(CronSim(freeze.cron, datetime(_YEAR, 1, 1, tzinfo=zone)), _MOST)
    longest, since, until = takes, datetime.min.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    for local in takewhile(lambda each: each.year < _AFTER, every):
        begins = local.astimezone(UTC)
        since = since if begins <= until else begins
        until = begins + takes
        longest = max(longest, until - since)
    return longest
