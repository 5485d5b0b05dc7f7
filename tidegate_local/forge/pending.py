"""Counted pending faults, until they have happened."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Counted(Protocol):
    """Something that is to happen so many times."""

    @property
    def times(self) -> int: ...


T = TypeVar("T", bound=Counted)


class Pending(Generic[T]):
    """What waits to happen. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[tuple[T, int]] = []

    def add(self, one: T) -> None:
        """Let it happen from now on."""
        with self._lock:
            self._left.append((one, one.times))

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._left.clear()

    def left(self) -> int:
        """Return how often something is still to happen."""
        with self._lock:
            return sum(times for _, times in self._left)

    def first(self, fits: Callable[[T], bool]) -> T | None:
        """Return the first that fits, if there is one, and count it."""
        with self._lock:
            for place, (one, times) in enumerate(self._left):
                if fits(one):
                    self._left[place : place + 1] = [(one, times - 1)] if times > 1 else []
                    return one
        return None
