"""Recorded calls of tenant-isolated functions, so that tests see what ran for whom."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class TenantCall:
    """A call of such a function: its event, when it began and ended (epoch seconds), and Lambda's error, if any."""

    function: str
    event: str
    began: float
    ended: float | None = None
    error: str | None = None

    def end(self, error: str | None) -> None:
        """Remember that it is over."""
        self.error, self.ended = error, time.time()


@dataclass(slots=True)
class TenantCalls:
    """All calls, oldest first."""

    _calls: list[TenantCall] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, function: str, event: bytes) -> TenantCall:
        """Remember that a call begins."""
        call = TenantCall(function, event.decode("utf-8", "replace"), time.time())
        with self._lock:
            self._calls.append(call)
        return call

    def all(self) -> list[TenantCall]:
        """Return all calls so far."""
        with self._lock:
            return list(self._calls)
