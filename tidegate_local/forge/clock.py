"""The forge's times, in the form that GitHub writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def now() -> str:
    """Return the time as GitHub writes it: ISO 8601 in UTC with whole seconds and ``Z``."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Return ``moment`` as GitHub writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read(text: str) -> datetime:
    """Return the moment that ``text`` (ISO 8601 with a zone) names. Raise ValueError."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs a time zone")
    return moment


def later(seconds: float) -> str:
    """Return the time in ``seconds`` from now, as GitHub writes it."""
    return written(datetime.now(UTC) + timedelta(seconds=seconds))


def is_past(text: str) -> bool:
    """Tell whether the time is over."""
    return read(text) <= datetime.now(UTC)
