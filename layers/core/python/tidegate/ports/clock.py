"""The time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    def now(self) -> str:
        """Return the time, ISO 8601 in UTC with microseconds and ``+00:00``."""
