"""Sessions of the web pages that were ended by signing out."""

from __future__ import annotations

from typing import Protocol


class SignOuts(Protocol):
    def end(self, session: str, expires_at: int) -> None:
        """Remember that a session was ended until it ends by itself, at ``expires_at`` (seconds since 1970)."""

    def is_ended(self, session: str) -> bool:
        """Tell whether a session was ended."""
