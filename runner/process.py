"""Runs programs so that their output streams, an interrupt reaches them once, and nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

from runner.faults import Interrupted
from runner.interruption import Interruption

_BLOCK = 65_536
#: After a program has ended, its children may hold its output open; what they still say is read for so long.
_DRAIN_SECONDS = 2.0


class ProcessRunner:
    """Runs one program at a time. ``stop_seconds`` is how long an interrupted one may go on."""

    def __init__(self, interruption: Interruption, sink: Callable[[bytes], None], stop_seconds: float) -> None:
        self._interruption = interruption
        self._sink = sink
        self._stop_seconds = stop_seconds

    def run(self, argv: list[str], cwd: Path, environ: Mapping[str, str], output: IO[bytes] | None = None) -> int:
        """Run a program to its end and return its exit code, negative for a signal.

        What it prints goes to the sink; with ``output``, only its standard error does. Raise Interrupted
        when the job is to stop before it starts, or when it does not end in time after an interrupt.
        """
        process = self._interruption.started(
            argv,
            cwd=cwd,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE if output else subprocess.STDOUT,
            # A group of its own: a signal for the runner's group must not be a second interrupt for the engine.
            start_new_session=True,
        )
        pipe = process.stderr if output else process.stdout
        assert pipe is not None  # noqa: S101  # Asked for above.
        reader = threading.Thread(target=self._read, args=(pipe,), name="output", daemon=True)
        reader.start()
        try:
            return self._wait(process)
        finally:
            self._interruption.ended()
            self._clean_up(process, reader)

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        ended = threading.Event()
        self._interruption.when_overdue(self._stop_seconds, ended.set)

        def wait() -> None:
            process.wait()
            ended.set()

        threading.Thread(target=wait, name="wait", daemon=True).start()
        ended.wait()
        code = process.poll()
        if code is None:
            self._interruption.left_running = True
            raise Interrupted(f"{self._interruption.reason} The engine did not end within {self._stop_seconds:.0f} s.")
        return code

    def _read(self, pipe: IO[bytes]) -> None:
        with suppress(OSError, ValueError):
            while block := os.read(pipe.fileno(), _BLOCK):
                with suppress(OSError):  # A full disk must not stop the engine: its output is read on.
                    self._sink(block)

    def _clean_up(self, process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
        if process.poll() is None:
            return  # It did not end in time, and an apply is never killed.
        reader.join(_DRAIN_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
