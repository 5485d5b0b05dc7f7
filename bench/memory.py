"""How much memory the runner takes beside the engine and its providers, on a root with the AWS provider."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.deploys import Bench
from bench.lines import Line

_PAUSE_SECONDS = 0.02
_MEGABYTE_KB = 1024
_ENGINES = ("terraform", "tofu")


def run(measured: Bench, kind: str = "aws") -> Line:
    """Deploy once and return the line: the runner's peak against the engine's and its providers'."""
    watch = _Watch(measured.cloud.info["aws_endpoint_url"])
    watch.start()
    try:
        measured.whole(kind)
    finally:
        watch.stop()
    runner, engine = watch.peak_runner / _MEGABYTE_KB, watch.peak_engine / _MEGABYTE_KB
    more = {"baseline": "engine and providers", "runner_peak_rss": round(watch.peak_rss / _MEGABYTE_KB, 1)}
    return Line("runner_memory", runner, engine, target=60, compared="median", unit="MB", more=more)


class _Watch:
    """Samples the runners' process trees. Sizes are in KB, as the kernel gives them.

    ``peak_runner`` and ``peak_engine`` are proportional set sizes (shared pages are shared out): of the
    runner with its git processes, and of the engine with its providers. ``peak_rss`` is the kernel's own
    high-water mark of the runner's process, which no sample can miss.
    """

    def __init__(self, endpoint: str) -> None:
        self.peak_runner = self.peak_engine = self.peak_rss = 0
        self._mark = f"AWS_ENDPOINT_URL={endpoint}".encode()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._runners: set[int] = set()
        self._others: set[int] = set()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(_PAUSE_SECONDS):
            self._sample()

    def _sample(self) -> None:
        children = defaultdict(list)
        for process, parent in _processes():
            children[parent].append(process)
            if process not in self._runners | self._others:
                (self._runners if self._is_runner(process) else self._others).add(process)
        for runner in self._runners:
            below = list(_descendants(runner, children))
            engine = {
                process for top in below if _program(top) in _ENGINES for process in (top, *_descendants(top, children))
            }
            self.peak_runner = max(self.peak_runner, sum(map(_pss, {runner, *below} - engine)))
            self.peak_engine = max(self.peak_engine, sum(map(_pss, engine)))
            self.peak_rss = max(self.peak_rss, _field(runner, "status", "VmHWM"))

    def _is_runner(self, process: int) -> bool:
        return _read(process, "cmdline").endswith(b"\0-m\0runner\0") and self._mark in _read(process, "environ")


def _processes() -> Iterator[tuple[int, int]]:
    """Yield each process and its parent."""
    for process in [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]:
        rest = _read(process, "stat").rpartition(b")")[2].split()
        if rest:
            yield process, int(rest[1])


def _descendants(process: int, children: Mapping[int, list[int]]) -> Iterator[int]:
    for child in children.get(process, ()):
        yield child
        yield from _descendants(child, children)


def _read(process: int, file: str) -> bytes:
    try:
        return Path("/proc", str(process), file).read_bytes()
    except OSError:
        return b""  # It has ended.


def _program(process: int) -> str:
    return Path(_read(process, "cmdline").partition(b"\0")[0].decode("utf-8", "replace")).name


def _pss(process: int) -> int:
    return _field(process, "smaps_rollup", "Pss")


def _field(process: int, file: str, name: str) -> int:
    lines = _read(process, file).decode("utf-8", "replace").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
