"""Hold a queue's message while a function works on it: if the function dies, the message returns soon."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aws_lambda_powertools import Logger

from tidegate.aws.visibility import doubled

#: Seconds for which each extension in the first attempt hides a message; doubled at each further one, so that some
#: attempts remain after an hour of crashes.
FIRST_HOLD = 30
#: Seconds between two extensions: two of them may fail.
BEAT = 10.0

logger = Logger(service="tidegate", child=True)


@contextmanager
def held(hide: Callable[[int], object], attempt: int, beat: float = BEAT) -> Iterator[None]:
    """Extend the message's visibility time-out for short periods until the block ends.

    The first extension is in the caller's thread, where clients are created. The last one expires after the block.
    """
    seconds = doubled(FIRST_HOLD, attempt)
    ended = threading.Event()

    def hold() -> None:
        try:
            hide(seconds)
        except Exception:  # The current visibility time-out stays, which is no reason to stop.
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
