"""Optimistic writes: after a concurrent write, read again and decide again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tidegate.rules.errors import Conflict

#: Tries in all. One queue has few writers, so repeated conflicts indicate an error.
TRIES = 8

Decision = TypeVar("Decision")


def deciding_again(decide: Callable[[], Decision]) -> Decision:
    """Return what ``decide`` returns; it reads, decides and commits. Raise Conflict after ``TRIES`` tries."""
    for _ in range(TRIES - 1):
        try:
            return decide()
        except Conflict:
            continue
    return decide()
