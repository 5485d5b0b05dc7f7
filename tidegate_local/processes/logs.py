"""Writes lines to moto's CloudWatch Logs, as Lambda, ECS and Step Functions do on AWS."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

from moto.logs.exceptions import ResourceAlreadyExistsException
from moto.logs.models import logs_backends


class Logs:
    """The log groups of one account and region."""

    def __init__(self, account: str, region: str) -> None:
        self._backend = logs_backends[account][region]
        self._lock = threading.Lock()
        self._known: set[tuple[str, str]] = set()

    def write(self, group: str, stream: str, lines: list[str]) -> None:
        """Append lines, each as an event of its own. Group and stream are made when they are missing."""
        now = int(time.time() * 1000)
        events = [{"timestamp": now, "message": line} for line in lines]
        with self._lock:
            self._ensure(group, stream)
            self._backend.put_log_events(group, stream, events)

    def _ensure(self, group: str, stream: str) -> None:
        if (group, stream) in self._known:
            return
        with contextlib.suppress(ResourceAlreadyExistsException):
            self._backend.create_log_group(group, {})
        with contextlib.suppress(ResourceAlreadyExistsException):
            self._backend.create_log_stream(group, stream)
        self._known.add((group, stream))


def follow(descriptor: int, write: Callable[[list[str]], None], name: str) -> threading.Thread:
    """Pass complete lines from a pipe to ``write`` until its other end is closed, in a thread."""

    def pump() -> None:
        rest = b""
        with contextlib.closing(os.fdopen(descriptor, "rb", buffering=0)) as pipe:
            while chunk := pipe.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                if lines:
                    write([line.decode("utf-8", "replace") for line in lines])
        if rest:
            write([rest.decode("utf-8", "replace")])

    thread = threading.Thread(target=pump, name=f"log-{name}", daemon=True)
    thread.start()
    return thread
