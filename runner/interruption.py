"""Interrupt the engine once when the runner is told to stop, and never a second time."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from runner.faults import Interrupted


class Interruption:
    """Whether the job must stop, and the engine process to interrupt. May be used from several threads.

    A second interrupt would make the engine quit immediately and lose state, so each process gets one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._tell: Callable[[int, int], None] = os.kill
        self._overdue: tuple[float, Callable[[], None]] | None = None
        self.reason = ""
        #: Whether a process was left running because it did not end in time: its files must stay.
        self.left_running = False
        #: Whether the engine applies: until it ends, stopping would leave more unknown, not less.
        self.applying = False

    def request(self, reason: str) -> None:
        """Interrupt the running engine, if any, and prevent further starts. Later requests change nothing."""
        with self._lock:
            if self.reason:
                return
            self.reason = reason
            if self._process is not None:
                with suppress(ProcessLookupError, PermissionError):
                    self._tell(self._process.pid, signal.SIGINT)
            self._start_clock()

    def check(self) -> None:
        """Raise Interrupted if the job must stop."""
        if self.reason:
            raise Interrupted(self.reason)

    def started(self, argv: list[str], *, whole_group: bool = False, **options: object) -> subprocess.Popen[bytes]:
        """Start a process that ``request`` will interrupt. Raise Interrupted if the job must stop.

        With ``whole_group``, all processes of its group are interrupted, as by a terminal.
        """
        with self._lock:
            self.check()
            self._process = subprocess.Popen(argv, **options)  # type: ignore[call-overload]
            self._tell = os.killpg if whole_group else os.kill
            process: subprocess.Popen[bytes] = self._process
            return process

    def when_overdue(self, seconds: float, call: Callable[[], None]) -> None:
        """Call ``call`` this long after the process was interrupted, unless it has ended by then."""
        with self._lock:
            self._overdue = (seconds, call)
            self._start_clock()

    def _start_clock(self) -> None:
        if self.reason and self._overdue is not None and self._process is not None:
            timer = threading.Timer(*self._overdue)
            timer.daemon = True
            timer.start()
            self._overdue = None

    def ended(self) -> None:
        """Forget the process: its id may soon belong to another one."""
        with self._lock:
            self._process = self._overdue = None


@contextmanager
def listening(interruption: Interruption) -> Iterator[None]:
    """Request the interruption on SIGTERM and SIGINT.

    A signal handler may run in the middle of anything, even of code that holds a lock. So the handler does nothing;
    Python writes the signal's number to a pipe, and a thread acts on it.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: None)

    def act() -> None:
        while os.read(reading, 1) not in {b"", b"\0"}:
            interruption.request("The runner received SIGTERM: the task was stopped, or its host is shutting down.")

    threading.Thread(target=act, name="signals", daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(-1)
        os.write(writing, b"\0")
