"""The system's clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The port ``Clock``."""

    def now(self) -> datetime:
        return datetime.now(UTC)
