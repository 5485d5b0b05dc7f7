"""Send the job's heartbeat to the state machine every few seconds."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tidegate.aws.client import Aws, AwsError

#: Errors that mean that the token has expired (the last one is moto's).
GONE = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})


class Heartbeat:
    """A thread that sends heartbeats until it is stopped or refused; a refusal calls ``when_gone`` once."""

    def __init__(self, aws: Aws, token: str, seconds: float, when_gone: Callable[[], None]) -> None:
        self._aws, self._token, self._seconds, self._when_gone = aws, token, seconds, when_gone
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _beat(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._aws.call("states", "SendTaskHeartbeat", {"taskToken": self._token})
            except Exception as error:  # noqa: BLE001  # The next may pass, and a silent job is given up.
                if isinstance(error, AwsError) and error.code in GONE:
                    if not self._stop.is_set():
                        self._when_gone()
                    return
