"""How long something took."""

from __future__ import annotations

from datetime import timedelta


def duration(took: timedelta) -> str:
    """Return how long something took, in its two largest units: ``2 min 5 s``, ``3 h 10 min``, ``2 d 4 h``."""
    seconds = int(took.total_seconds())
    days, hours, minutes = seconds // 86_400, seconds // 3_600 % 24, seconds // 60 % 60
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds % 60, "s")]
    first = next((at for at, (count, _) in enumerate(parts) if count), len(parts) - 1)
    shown = parts[first : first + 2]
    return " ".join(f"{count} {unit}" for at, (count, unit) in enumerate(shown) if count or not at)
