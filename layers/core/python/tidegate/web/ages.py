"""How long ago something was."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))

#: From this on the day says more than how many days ago it was.
_AS_DAY = timedelta(days=30)


def age(at: datetime, now: datetime) -> str:
    """Return the time from ``at`` to ``now`` in its largest unit, such as ``3 h``."""
    passed = now - at
    return next((f"{passed // unit} {name}" for unit, name in _UNITS if passed >= unit), "now")


def relative(at: datetime, now: datetime) -> str:
    """Return ``at`` as seen from ``now``: ``3 h ago``, ``in 6 d``; the day itself after a month."""
    if abs(now - at) >= _AS_DAY:
        return f"{at:%Y-%m-%d}"
    if at > now:
        return f"in {age(now, at)}".replace("in now", "in less than 1 min")
    return f"{age(at, now)} ago".replace("now ago", "just now")
