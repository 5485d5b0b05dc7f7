"""How much memory the runner takes beside the engine and its providers, on a root with the AWS provider."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from bench.deploys import Bench
from bench.lines import Line

_PAUSE_SECONDS = 0.02
_ENGINES = ("terraform", "tofu")


def run(measured: Bench, kind: str = "aws") -> Line:
    """Deploy once and return the line: the runner's peak against that of the engine with its providers."""
    mark, end = f"AWS_ENDPOINT_URL={measured.cloud.info['aws_endpoint_url']}".encode(), threading.Event()
    peaks: dict[int, tuple[bool, int]] = {}

    def watch() -> None:
        while not end.wait(_PAUSE_SECONDS):
            for process, is_runner in _processes(mark):
                peaks[process] = is_runner, max(_peak(process), peaks.get(process, (is_runner, 0))[1])

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        measured.whole(kind)
    finally:
        end.set()
        thread.join()
    runner = max((peak for is_runner, peak in peaks.values() if is_runner), default=0)
    engine = max((peak for is_runner, peak in peaks.values() if not is_runner), default=0)
    more = {"baseline": "the largest of the engine and its providers"}
    return Line("runner_memory", runner / 1024, engine / 1024, target=60, compared="median", unit="MB", more=more)


def _processes(mark: bytes) -> Iterator[tuple[int, bool]]:
    """Yield the runners and the engines of a cloud, with whether it is a runner."""
    for place in Path("/proc").glob("[0-9]*"):
        command = _read(place / "cmdline")
        program = Path(command.partition(b"\0")[0].decode("utf-8", "replace")).name
        is_runner = command.endswith(b"\0-m\0runner\0")
        if (is_runner or program.startswith(_ENGINES)) and mark in _read(place / "environ"):
            yield int(place.name), is_runner


def _peak(process: int) -> int:
    """Return the most memory that a process had, in KB, by the kernel's own mark, which no sample can miss."""
    lines = _read(Path("/proc", str(process), "status")).decode("utf-8", "replace").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""  # It has ended.
