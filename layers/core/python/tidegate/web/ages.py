"""How long ago something was, for lists."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


def age(at: datetime, now: datetime) -> str:
    """Return the time from ``at`` to ``now`` in its largest unit, such as ``3 h``."""
    passed = now - at
    return next((f"{passed // unit} {name}" for unit, name in _UNITS if passed >= unit), "now")
