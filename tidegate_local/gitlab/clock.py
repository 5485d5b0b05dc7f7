"""Times in the forms that GitLab writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from tidegate_local.forge.clock import is_past, read


def now() -> str:
    """Return the time as GitLab's API writes it: ISO 8601 in UTC with milliseconds and ``Z``."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Return a moment as GitLab's API writes it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def later(seconds: float) -> str:
    """Return the time in ``seconds`` from now."""
    return written(datetime.now(UTC) + timedelta(seconds=seconds))


def in_hook(text: str | None) -> str | None:
    """Return a time as webhooks about merge requests and notes carry it: ``2026-01-31 12:00:00 UTC``."""
    return None if text is None else f"{read(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def of_commit(text: str) -> str:
    """Return git's time of a commit as GitLab's API writes it: with milliseconds, in the zone of who made it."""
    moment = read(text)
    return moment.isoformat(timespec="milliseconds")


__all__ = ["in_hook", "is_past", "later", "now", "of_commit", "read", "written"]
