"""Wait for what happens by itself: poll with a deadline that a busy machine can keep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

#: Seconds. Everything here takes a few seconds on an idle core; the deadline is for a machine that is not idle, and
#: longer than the six minutes after which a queue hands out again what a function took and died over.
DEADLINE = 420.0
_PAUSE = 0.2


def eventually(look: Callable[[], Found], *, what: str = "", deadline: float = DEADLINE) -> Found:
    """Return the first truthy answer of ``look``. Fail with ``what`` when there is none in time."""
    end = time.monotonic() + deadline
    while not (found := look()):
        assert time.monotonic() < end, f"it did not happen within {deadline:.0f} s: {what or look}"
        time.sleep(_PAUSE)
    return found
