"""Promotions of a config repository."""

from __future__ import annotations

from tidegate.ports import Ports


def review_promotions(ports: Ports, repository: str) -> None:
    """Let every waiting promotion decide again."""
