"""Decisions about webhook events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted event: its kind, and its used fields."""

    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An ignored event, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that is refused because of an invalid name."""

    reason: str


Decision = Accepted | Ignored | Refused
