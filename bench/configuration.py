"""How long a file of 10,000 directories takes to load, and whether time grows with their number only."""

from __future__ import annotations

import statistics
import time

from bench.lines import Line
from tidegate.config.loader import load_configuration

FEW, MANY = 1_000, 10_000
_QUICK_FEW, _QUICK_MANY = 100, 1_000
TARGET_SECONDS = 1.0
_RUNS = 5


def run(*, quick: bool) -> Line:
    """Return the CPU time of 10,000 directories, against ten times that of 1,000."""
    runs = 1 if quick else _RUNS
    fewer, more = (_QUICK_FEW, _QUICK_MANY) if quick else (FEW, MANY)
    few, many = _file(fewer), _file(more)
    pairs = [(_seconds(many), _seconds(few) * more / fewer) for _ in range(runs)]
    return Line(
        "configuration_loaded",
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        target=TARGET_SECONDS,
        compared="median",
        more={"runs": runs, "directories": more, "bytes": len(many)},
    )


def _file(directories: int) -> bytes:
    lines = ["version: 1", "dirs:"]
    for number in range(directories):
        team = f"team-{number % 101}"
        lines += [f"  live/{team}/service-{number}:", f"    tags: [{team}]", "    when_modified: ['**', '../lib/**']"]
    return "\n".join(lines).encode()


def _seconds(raw: bytes) -> float:
    """Return the CPU time: loading waits for nothing."""
    begun = time.process_time()
    load_configuration(raw, "bench/configuration")
    return time.process_time() - begun
