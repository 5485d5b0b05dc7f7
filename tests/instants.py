"""Instants, as tests write them."""

from __future__ import annotations

from datetime import UTC, datetime


def utc(text: str) -> datetime:
    """Return the instant of a text in ISO 8601 without a zone, which means UTC: ``utc("2026-03-02T08:00")``."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
