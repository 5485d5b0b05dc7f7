"""When a freeze window holds, and how long. Recurring ones follow a cron expression in their time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim

from tidegate.deploys.rules.freeze import Freeze

_MINUTE = timedelta(minutes=1)
#: A leap year, of whose beginnings so many are looked at.
_YEAR, _AFTER, _MOST = 2028, 2029, 40_000


def frozen_until(freeze: Freeze, now: str) -> str:
    """Return when the window ends that holds at ``now``, both ISO 8601 in UTC; an empty text where none holds."""
    if not freeze.cron:
        return freeze.ends if freeze.begins <= now < freeze.ends else ""
    at = datetime.fromisoformat(now)
    # What begins in this minute has begun.
    local = (at.replace(second=0, microsecond=0) + _MINUTE).astimezone(ZoneInfo(freeze.zone))
    begun: datetime | None = next(CronSim(freeze.cron, local, reverse=True), None)
    end = begun.astimezone(UTC) + timedelta(minutes=freeze.minutes) if begun else at
    return end.isoformat(timespec="microseconds") if end > at else ""


def longest_hold(freeze: Freeze) -> timedelta:
    """Return how long the window holds at most without a break; of a recurring one, in a year."""
    if not freeze.cron:
        return datetime.fromisoformat(freeze.ends) - datetime.fromisoformat(freeze.begins)
    zone, takes = ZoneInfo(freeze.zone), timedelta(minutes=freeze.minutes)
    every = islice(CronSim(freeze.cron, datetime(_YEAR, 1, 1, tzinfo=zone)), _MOST)
    longest, since, until = takes, datetime.min.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    for local in takewhile(lambda each: each.year < _AFTER, every):
        begins = local.astimezone(UTC)
        since = since if begins <= until else begins
        until = begins + takes
        longest = max(longest, until - since)
    return longest
