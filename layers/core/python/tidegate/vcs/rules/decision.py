"""What is decided about a webhook's event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Accepted:
    """An event that is acted on: its kind, and the fields of it that are used."""

    event: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event that nothing follows from, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An event that would be acted on but for a name in it that is not accepted."""

    reason: str


Decision = Accepted | Ignored | Refused
