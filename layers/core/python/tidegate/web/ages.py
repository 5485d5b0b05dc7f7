"""How long ago something was, and how long it took."""

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


def duration(took: timedelta) -> str:
    """Return how long something took, in its two largest units: ``2 min 5 s``, ``3 h 10 min``, ``2 d 4 h``."""
    seconds = int(took.total_seconds())
    days, hours, minutes = seconds // 86_400, seconds // 3_600 % 24, seconds // 60 % 60
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    first = next((at for at, (count, _) in enumerate(parts) if count), len(parts) - 1)
    shown = parts[first : first + 2]
    return " ".join(f"{count} {unit}" for at, (count, unit) in enumerate(shown) if count or not at)
