"""The answer to a request."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it was done, and the next step or the reason why not."""

    done: bool
    reason: str
