"""The answer to somebody who wants something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it was done, and what there is to say about it: what follows, or why it was not done."""

    done: bool
    reason: str
