"""Mishaps of webhooks on demand: deliveries that are lost, doubled, late, or come after their successors."""

from __future__ import annotations

import threading
from dataclasses import dataclass

KINDS = ("lose", "unanswered", "duplicate", "delay", "reorder")


@dataclass(frozen=True, slots=True)
class Mishap:
    """The next ``times`` deliveries of ``event`` (and ``action``; ``*`` is any) go wrong in this way.

    ``lose``: nothing is sent, and the delivery is recorded as failed. ``unanswered``: it is sent, and recorded as
    timed out. ``duplicate``: it is sent twice under one GUID. ``delay``: it is sent ``seconds`` later. ``reorder``:
    it is sent after the delivery that follows it, at the latest after ``seconds``.
    """

    kind: str
    event: str = "*"
    action: str = "*"
    times: int = 1
    seconds: float = 1


class Mishaps:
    """The mishaps that wait for their deliveries. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: list[tuple[Mishap, int]] = []

    def inject(self, mishap: Mishap) -> None:
        """Let deliveries go wrong from now on. Raise ValueError for an unknown kind or no times."""
        if mishap.kind not in KINDS:
            raise ValueError(f"kind is one of {', '.join(KINDS)}")
        if mishap.times < 1:
            raise ValueError("times is at least 1")
        with self._lock:
            self._left.append((mishap, mishap.times))

    def clear(self) -> None:
        """Forget all mishaps."""
        with self._lock:
            self._left.clear()

    def left(self) -> int:
        """Return how many deliveries are still to go wrong."""
        with self._lock:
            return sum(times for _, times in self._left)

    def take(self, event: str, action: str | None) -> Mishap | None:
        """Return the mishap of this delivery, if there is one, and count it."""
        with self._lock:
            for place, (mishap, times) in enumerate(self._left):
                if mishap.event in {"*", event} and mishap.action in {"*", action}:
                    self._left[place : place + 1] = [(mishap, times - 1)] if times > 1 else []
                    return mishap
        return None
