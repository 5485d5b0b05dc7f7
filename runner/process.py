"""Run programs with streamed output, at most one interrupt, and no leftover processes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from runner.descendants import kill_descendants
from runner.faults import Interrupted, StepFailed
from runner.interruption import Interruption

_BLOCK = 65_536
#: After a program has ended, its children may keep its output open; it is read for this long, and not after that: an
#: endless writer must not keep the job from ending.
_DRAIN_SECONDS = 2.0


_OPTIONS: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    # A separate group: a signal for the runner's group must not be a second interrupt for the engine.
    "start_new_session": True,
}


class ProcessRunner:
    """Runs one program at a time. ``stop_seconds`` is how long an interrupted one may run on."""

    def __init__(self, interruption: Interruption, sink: Callable[[bytes], None], stop_seconds: float) -> None:
        self._interruption = interruption
        self._sink = sink
        self._stop_seconds = stop_seconds

    def run(self, argv: list[str], cwd: Path, environ: Mapping[str, str], output: IO[bytes] | None = None) -> int:
        """Run a program and return its exit code, negative for a signal.

        Its output goes to the sink; with ``output``, only its standard error does. Raise Interrupted if the job must
        stop before it starts, or if it does not end in time after an interrupt.
        """
        process = self._interruption.started(
            argv,
            **_OPTIONS,
            cwd=cwd,
            env=dict(environ),
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE if output else subprocess.STDOUT,
        )
        pipe = process.stderr if output else process.stdout
        assert pipe is not None  # noqa: S101  # Asked for above.
        reader = _Reader(pipe, self._sink)
        reader.start()
        try:
            return self._wait(process)
        finally:
            self._interruption.ended()
            _clean_up(process, reader)

    def run_program(
        self,
        argv: list[str],
        cwd: Path,
        environ: Mapping[str, str],
        seconds: float,
        capture: Callable[[bytes], None] | None = None,
    ) -> int:
        """Run a step's program, and return its exit code, negative for a signal.

        Its output goes to the sink; with ``capture``, only its standard error does. Processes that it leaves behind are
        killed. Raise StepFailed if it exceeds ``seconds``, Interrupted if the job must stop before it starts, or if it
        does not end in time after an interrupt: in both cases it is killed.
        """
        process = self._interruption.started(
            argv,
            whole_group=True,
            **_OPTIONS,
            cwd=cwd,
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if capture else subprocess.STDOUT,
        )
        readers = self._readers(process, capture)
        try:
            in_time = self._ended(process).wait(seconds)
            code = process.poll()
        finally:
            self._interruption.ended()
            _kill_group(process)
            kill_descendants()
            for reader in readers:
                reader.finish(_DRAIN_SECONDS)
        if not in_time:
            raise StepFailed(f"exceeded its time limit of {seconds:.0f} s and was killed")
        if code is None:
            raise Interrupted(f"{self._interruption.reason} A program did not exit in time and was killed.")
        return code

    def _readers(self, process: subprocess.Popen[bytes], capture: Callable[[bytes], None] | None) -> list[_Reader]:
        """Begin to read what a program prints."""
        pipes = ((process.stdout, capture or self._sink), (process.stderr, self._sink))
        readers = [_Reader(pipe, sink) for pipe, sink in pipes if pipe is not None]
        for reader in readers:
            reader.start()
        return readers

    def _ended(self, process: subprocess.Popen[bytes]) -> threading.Event:
        """Return what is set when the process has ended, or is overdue after an interrupt."""
        ended = threading.Event()
        self._interruption.when_overdue(self._stop_seconds, ended.set)

        def wait() -> None:
            process.wait()
            ended.set()

        threading.Thread(target=wait, name="wait", daemon=True).start()
        return ended

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        self._ended(process).wait()
        code = process.poll()
        if code is None:
            self._interruption.left_running = True
            raise Interrupted(f"{self._interruption.reason} The engine did not exit within {self._stop_seconds:.0f} s.")
        return code


class _Reader(threading.Thread):
    """Passes on a program's output, until it closes its output or is told to stop."""

    def __init__(self, pipe: IO[bytes], sink: Callable[[bytes], None]) -> None:
        super().__init__(name="output", daemon=True)
        self._pipe, self._sink = pipe, sink
        self._stopped = threading.Event()

    def run(self) -> None:
        with suppress(OSError, ValueError):
            while (block := os.read(self._pipe.fileno(), _BLOCK)) and not self._stopped.is_set():
                with suppress(OSError):  # A full disk must not stop the engine: its output is read on.
                    self._sink(block)
            self._pipe.close()

    def finish(self, seconds: float) -> None:
        """Wait for the end of the output, but not longer than this; nothing is passed on afterwards."""
        self.join(seconds)
        self._stopped.set()


def _clean_up(process: subprocess.Popen[bytes], reader: _Reader) -> None:
    if process.poll() is None:
        return  # It did not end in time, and an apply is never killed.
    reader.finish(_DRAIN_SECONDS)
    _kill_group(process)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
