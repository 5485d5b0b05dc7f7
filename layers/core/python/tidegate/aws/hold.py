"""Holds a message of a queue while a function works on it: when the function dies, the message comes back soon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aws_lambda_powertools import Logger

from tidegate.aws.visibility import doubled

#: Seconds that each beat of the first attempt hides a message; doubled at each further one, so that trouble which
#: kills functions for an hour leaves attempts.
FIRST_HOLD = 30
#: Seconds between two beats: two of them may fail.
BEAT = 10.0

logger = Logger(service="tidegate", child=True)


@contextmanager
def held(hide: Callable[[int], object], attempt: int, beat: float = BEAT) -> Iterator[None]:
    """Hide what is worked on for a short time, from now and from each beat, until the block ends.

    The first time is in the caller's thread, where clients are made. After the block nothing is hidden any more.
    """
    seconds = doubled(FIRST_HOLD, attempt)
    ended = threading.Event()

    def hold() -> None:
        try:
            hide(seconds)
        except Exception:  # The message stays hidden for as long as before, which is no reason to stop.
            logger.warning("not held", exc_info=True)

    def beats() -> None:
        while not ended.wait(beat):
            hold()

    hold()
    thread = threading.Thread(target=beats, name="hold", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
