"""Recorded calls of programs: how many an application makes can be read here."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

from werkzeug.wrappers import Request

#: So many of the newest calls are remembered.
_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Call:
    """A call: when it came (seconds since 1970), its method and path, and the program that made it."""

    at: float
    method: str
    path: str
    agent: str


class Calls:
    """The newest calls. Safe for threads."""

    def __init__(self) -> None:
        self._newest = deque[Call](maxlen=_KEPT)

    def add(self, request: Request, path: str) -> None:
        """Remember a call."""
        self._newest.append(Call(time.time(), request.method, path, request.user_agent.string))

    def described(self) -> list[dict[str, Any]]:
        """Return what is remembered, oldest first."""
        return [asdict(call) for call in list(self._newest)]
