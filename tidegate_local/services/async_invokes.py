"""Asynchronous invocations: Lambda queues the event, tries three times in all, then gives it to a dead-letter queue."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tidegate_local.latency import LATENCY
from tidegate_local.processes.lambdas import Lambdas, Result

FAILED_CALL = "Lambda Function Invocation Result - Failure"
"""The detail type of what Lambda tells an event bus of a failed call; the source is ``lambda``."""
RETRY_SECONDS = (1.0, 2.0)
"""Lambda waits one and two minutes; the local cloud seconds, so that a person or a test need not."""


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """Where events of a function go that failed each time: the ARN of a queue, a topic, a bus or a function."""

    arn: str
    wrapped: bool
    """A destination gets the event inside a record, a dead-letter queue the event itself."""


class AsyncInvokes:
    """Runs events in the background."""

    def __init__(self, lambdas: Lambdas, deliver: Callable[[str, str, str], None]) -> None:
        """``deliver`` is given the role of the function that failed, where the event goes, and the event."""
        self._lambdas = lambdas
        self._deliver = deliver
        self._dead_letters: dict[str, DeadLetters] = {}
        self._retries: dict[str, int] = {}
        # Plans may be among them, which take their time.
        self._workers = ThreadPoolExecutor(max_workers=64, thread_name_prefix="async-invoke")
        self._closing = threading.Event()

    def send_failures(self, function: str, dead_letters: DeadLetters) -> None:
        """Tell where the function's failed events go."""
        self._dead_letters[function] = dead_letters

    def retry(self, function: str, times: int) -> None:
        """Tell how often the function's failed events are tried again, at most twice."""
        self._retries[function] = times

    def submit(self, function: str, event: bytes) -> None:
        """Run the function with this event soon. Raise KeyError when there is no such function."""
        name = self._lambdas.find(function).name
        if not self._closing.is_set():
            self._workers.submit(self._run, name, event)

    def close(self) -> None:
        """Take no more events, and give up retries."""
        self._closing.set()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _run(self, name: str, event: bytes) -> None:
        LATENCY.wait("events_delivery", name)
        waits: Sequence[float | None] = (*RETRY_SECONDS[: self._retries.get(name, 2)], None)
        for wait in waits:
            result = self._lambdas.invoke(name, event)
            if result.error is None or self._closing.is_set():
                return
            if wait is not None:
                self._closing.wait(wait)
        self._give_up(name, event, result)

    def _give_up(self, name: str, event: bytes, result: Result) -> None:
        dead_letters = self._dead_letters.get(name)
        if dead_letters is None:
            return
        body = event.decode("utf-8", "replace")
        if dead_letters.wrapped:
            record = {
                "requestContext": {
                    "requestId": result.request,
                    "functionArn": self._lambdas.find(name).arn,
                    "condition": "RetriesExhausted",
                },
                "requestPayload": json.loads(event),
                "responsePayload": json.loads(result.payload or b"null"),
            }
            body = json.dumps(record)
        self._deliver(self._lambdas.find(name).role, dead_letters.arn, body)
