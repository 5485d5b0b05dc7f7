"""The system's clock."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The port ``Clock``."""

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="microseconds")
