"""The runner's parent process: it ends a job whose interpreter hangs, or that exceeds its time limit.

The job runs in a child (docs/decisions/0183). A C call or a regular expression that holds the interpreter's lock stops
its threads and signal handlers, so nothing in that process could end it. The parent reads no external input: it only
waits and signals.
"""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runner.descendants import children_of
from runner.run import ExitCode

#: Heartbeats of the child in each silence limit.
_SIGNS = 12
#: A child that was told to stop must respond within this part of it: the rest of ECS's 120 s is the engine's.
_SILENCE_WHEN_TOLD = 0.25
#: Seconds of the stop time that the job keeps for its log and report (``settings.DEFAULT_STOP_SECONDS``).
_REPORT_SECONDS = 15.0
_KILLED = 128
_BLOCK = 65_536
#: Of linux/prctl.h.
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds: how long the job may run, be silent, and take to stop."""

    life: float
    silence: float
    stop: float


def supervised(job: Callable[[], int], limits: Limits) -> int:
    """Run ``job`` in a child, and return its exit code; ``ExitCode.STUCK`` if it was killed.

    The child returns from here as well, with the job's own.
    """
    reading, writing = os.pipe()
    waking, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    child = os.fork()
    if child:
        os.close(writing)
        return _Supervisor(child, reading, waking, limits).wait()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    for end in (reading, waking, wake):
        os.close(end)
    _die_with_parent()
    _show_life(writing, limits.silence / _SIGNS)
    return job()


def _die_with_parent() -> None:
    import ctypes  # noqa: PLC0415  # Nothing else here needs it.

    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _show_life(writing: int, seconds: float) -> None:
    """Write a byte every few seconds, from a thread: it does so as long as the interpreter runs threads."""

    def beat() -> None:
        never = threading.Event()
        with suppress(OSError):
            while not never.wait(seconds):
                os.write(writing, b".")

    threading.Thread(target=beat, name="life", daemon=True).start()


class _Supervisor:
    """Waits for the child. ``life`` receives its heartbeats, ``waking`` the numbers of signals."""

    def __init__(self, child: int, life: int, waking: int, limits: Limits) -> None:
        self._child, self._life, self._waking, self._limits = child, life, waking, limits
        #: What is read: these two, and the output of a stuck job's programs, which would block otherwise.
        self._watched = [life, waking]
        self._begun = self._seen = time.monotonic()
        self._told: float | None = None
        self._interrupted: set[int] = set()
        self._killed = False

    def wait(self) -> int:
        while (code := self._ended()) is None:
            self._listen()
            if self._told is None and time.monotonic() - self._begun > self._limits.life:
                self._tell("it reached its time limit")
            if not self._killed:
                self._end_what_is_stuck()
        return ExitCode.STUCK if self._killed else code

    def _ended(self) -> int | None:
        ended, status = os.waitpid(self._child, os.WNOHANG)
        if not ended:
            return None
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else _KILLED - code

    def _listen(self) -> None:
        ready, _, _ = select.select(self._watched, [], [], min(1.0, self._limits.silence / _SIGNS))
        for end in ready:
            try:
                content = os.read(end, _BLOCK)
            except BlockingIOError:  # Both outputs of a program may be the same.
                continue
            if not content:
                self._watched.remove(end)
                os.close(end)
            elif end == self._life:
                self._seen = time.monotonic()
            elif end == self._waking and {signal.SIGTERM, signal.SIGINT} & set(content):
                self._tell("it received a stop signal")

    def _tell(self, why: str) -> None:
        """Pass an interrupt on: the job passes it on to its program, and reports."""
        if self._told is None:
            self._told = time.monotonic()
            _say(f"the runner is being interrupted: {why}")
        _signal(self._child, signal.SIGTERM)

    def _end_what_is_stuck(self) -> None:
        now, limits = time.monotonic(), self._limits
        silence = limits.silence if self._told is None else limits.silence * _SILENCE_WHEN_TOLD
        overdue = self._told is not None and now - self._told > limits.stop + _REPORT_SECONDS
        if not overdue and now - self._seen <= silence:
            return
        programs = {process for process in children_of(self._child) if _runs(process)}
        if overdue or not programs:
            why = "did not exit in time" if overdue else f"has been unresponsive for {silence:.0f} s"
            _say(f"the runner {why} and is killed")
            self._killed = True
            for process in (*programs, self._child):
                _signal(process, signal.SIGKILL)
        for program in programs - self._interrupted:
            self._interrupt(program)

    def _interrupt(self, program: int) -> None:
        """Interrupt a program as its runner would, once, and read its output: it would block otherwise."""
        _say("the runner is unresponsive; interrupting its program")
        self._interrupted.add(program)
        for number in (1, 2):
            with suppress(OSError):
                end = os.open(f"/proc/{program}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK)
                if stat.S_ISFIFO(os.fstat(end).st_mode):
                    self._watched.append(end)
                else:
                    os.close(end)
        _signal(program, signal.SIGINT)


def _runs(process: int) -> bool:
    """Tell whether a process runs: an unreaped one stays a child of the stuck one."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def _signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)


def _say(text: str) -> None:
    print(f"tidegate: {text}", file=sys.stderr, flush=True)  # noqa: T201  # The container's log.
