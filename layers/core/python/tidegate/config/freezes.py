"""Whether a freeze window holds at a moment. Recurring ones follow a cron expression in their time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

from tidegate.domain.deploys.freeze import Freeze

_MINUTE = timedelta(minutes=1)


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
