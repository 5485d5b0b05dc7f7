"""Web sessions that were signed out."""

from __future__ import annotations

from typing import Protocol


class SignOuts(Protocol):
    def end(self, session: str, expires_at: int) -> None:
        """Record that a session was signed out, until it expires at ``expires_at`` (seconds since 1970)."""

    def is_ended(self, session: str) -> bool:
        """Tell whether a session was ended."""
