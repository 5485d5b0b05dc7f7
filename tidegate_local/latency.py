"""A model of AWS latencies: with ``TIDEGATE_LATENCY=aws`` the local cloud waits as long as AWS does.

The numbers and their sources are in ``latency.toml``. As moto's backends, this is global to the process.
"""

from __future__ import annotations

import os
import threading
import time
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

AWS: Final = "aws"
Model = Literal["", "aws"]
_TABLE = Path(__file__).with_name("latency.toml")


@dataclass(frozen=True, slots=True)
class Waited:
    """A wait of the model: its kind, what waited (a function, a queue, a state), when it began and how long it was.

    Times are in seconds, ``at`` since the epoch.
    """

    kind: str
    what: str
    at: float
    seconds: float


class Latency:
    """Waits as a model says, and remembers that."""

    def __init__(self) -> None:
        self._seconds: Mapping[str, float] = {}
        self._waits: list[Waited] = []
        self._lock = threading.Lock()

    def follow(self, model: Model, scale: float) -> None:
        """Wait as this model says from now on, each time multiplied by ``scale``."""
        self._seconds = {kind: seconds * scale for kind, seconds in seconds_of(model).items()}

    def wait(self, kind: str, what: str = "") -> None:
        """Wait as long as AWS takes for this, if the model knows it."""
        seconds = self._seconds.get(kind)
        if seconds is None:
            return
        with self._lock:
            self._waits.append(Waited(kind, what, time.time(), seconds))
        time.sleep(seconds)

    def later(self, kind: str, what: str, act: Callable[[], None]) -> None:
        """Act as late as AWS does, and do not keep the caller; at once where the model does not know it."""
        if kind not in self._seconds:
            act()
            return

        def in_time() -> None:
            self.wait(kind, what)
            act()

        threading.Thread(target=in_time, name=f"late-{what}", daemon=True).start()

    def waits(self) -> list[Waited]:
        """Return all waits so far, in the order in which they began."""
        with self._lock:
            return list(self._waits)


def chosen() -> Model:
    """Return the model that the environment names. Raise ValueError where there is no such model."""
    name = os.environ.get("TIDEGATE_LATENCY", "")
    if name not in {"", AWS}:
        raise ValueError(f"TIDEGATE_LATENCY is {name!r}, which is not a latency model. Set it to {AWS!r}, or unset it.")
    return AWS if name else ""


def table() -> dict[str, dict[str, Any]]:
    """Return the parts of each kind, as the file has them."""
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))


def seconds_of(model: Model) -> dict[str, float]:
    """Return the seconds of each kind; none without a model."""
    kinds = table() if model == AWS else {}
    return {kind: sum(part["seconds"] for part in parts.values()) for kind, parts in kinds.items()}


LATENCY = Latency()
