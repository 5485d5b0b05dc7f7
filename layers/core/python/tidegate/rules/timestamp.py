"""Moments, as the records have them: ISO 8601 in UTC with microseconds."""

from __future__ import annotations

from datetime import datetime, timedelta


def later(at: str, microseconds: int) -> str:
    """Return the moment that is some microseconds after another one, or before it."""
    if not microseconds:
        return at
    return (datetime.fromisoformat(at) + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")
