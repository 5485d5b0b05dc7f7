"""What a promotion waits for, as words."""

from __future__ import annotations

from datetime import timedelta

from tidegate.config_updates.rules.promotion import Promotion, Stage


def waiting_text(promotion: Promotion | None) -> str:
    """Return what keeps an image set in its environment; empty if nothing is known to."""
    if promotion is None:
        return ""
    if promotion.stage is Stage.SOAK and promotion.complete_at:
        until = promotion.complete_at + timedelta(seconds=promotion.soak_seconds)
        return f"It soaks until {until:%Y-%m-%d %H:%M} UTC."
    return promotion.reason
