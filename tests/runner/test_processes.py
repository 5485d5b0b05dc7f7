"""Programs that leave something behind: their output is read to its end, and never for ever."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.interruption import Interruption
from runner.log import LONGEST_LINE, JobLog
from runner.masking import Masker
from runner.process import ProcessRunner

#: A process of its own session, so that the end of the engine's process group does not end it.
DAEMON = "setsid timeout 60"
TEN_MB = 10_000_000


@pytest.fixture
def log(tmp_path: Path) -> Iterator[JobLog]:
    masker = Masker([r"ghp_\w+"])
    masker.add(f"secret-number-{number}" for number in range(20))
    with (tmp_path / "console").open("w", encoding="utf-8") as console:
        log = JobLog(tmp_path / "job.log", masker, console)
        yield log
        log.close()


def run(log: JobLog, script: str, directory: Path) -> float:
    """Run a shell script and return the seconds that it took."""
    begin = time.monotonic()
    runner = ProcessRunner(Interruption(), log.write, stop_seconds=60)
    assert runner.run(["sh", "-c", script], directory, dict(os.environ)) == 0
    log.end_line()
    return time.monotonic() - begin


def test_a_daemon_that_goes_on_writing_does_not_keep_the_job_from_its_end(tmp_path: Path, log: JobLog) -> None:
    assert run(log, f"{DAEMON} yes & echo begun", tmp_path) < 40
    size = log.path.stat().st_size
    log.say("the end")
    assert log.path.stat().st_size == size + len("tidegate: the end\n")
    assert "begun" in log.path.read_text(encoding="utf-8")


def test_a_daemon_that_keeps_the_output_open_and_a_huge_line_take_neither_time_nor_memory(
    tmp_path: Path, log: JobLog
) -> None:
    tracemalloc.start()
    try:
        seconds = run(log, f"{DAEMON} sleep 60 & head -c {TEN_MB} /dev/zero | tr '\\0' x; echo; echo done", tmp_path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert seconds < 40
    assert peak < TEN_MB / 5
    lines = log.path.read_text(encoding="utf-8").split("\n")
    assert sum(map(len, lines)) == TEN_MB + len("done")
    assert max(map(len, lines)) <= LONGEST_LINE
    assert "done" in lines
