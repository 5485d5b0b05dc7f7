"""A runner whose interpreter is stuck ends all the same: its programs are interrupted first, then it is killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runner.conftest import REPOSITORY_TOP, Bench
from tests.runner.engines import WAITING, fake_engine
from tests.runner.fake_aws import JOB_TOKEN
from tidegate.deploys.rules.job import Job, JobKind

GOOD = 'resource "terraform_data" "network" { input = "10.0.0.0/16" }\n'
#: A C call that keeps the interpreter's lock: no thread and no signal handler of the process runs any more.
STUCK = "import ctypes; stuck = lambda *_: ctypes.PyDLL(None).sleep(600)\n"
#: Where it gets stuck: before any program runs, and when a program prints something.
IN_THE_PLAN = "import runner.plan_job; runner.plan_job.plan_problem = stuck\n"
IN_THE_OUTPUT = (
    "import runner.log\n"
    "take = runner.log.JobLog._take\n"
    "def hang(log, text):\n"
    "    take(log, text)\n"
    "    if 'HANG' in text: stuck()\n"
    "runner.log.JobLog._take = hang\n"
)
#: Prints more than its pipe takes, and ends when it is interrupted, as engines do.
ENGINE = (
    "trap 'echo saving; touch {directory}/saved; exit 1' INT; echo HANG; touch {directory}/started; "
    "i=0; while [ $i -lt 3000 ]; do echo 'some more of the plan, line by line'; i=$((i+1)); done; "
    "while :; do sleep 0.05; done"
)


@pytest.fixture
def stuck(bench: Bench, commit: Callable[..., str], tmp_path: Path) -> Callable[[str], Job]:
    """A job whose runner gets really stuck there: patched as it starts, and otherwise the real program."""

    def make(where: str) -> Job:
        site = tmp_path / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(STUCK + where)
        path = map(str, (site, REPOSITORY_TOP, REPOSITORY_TOP / "layers/core/python"))
        bench.environ.update(PYTHONPATH=os.pathsep.join(path), TIDEGATE_SILENCE_SECONDS="1")
        return bench.job(JobKind.PLAN, commit(GOOD))

    return make


def test_a_runner_that_is_stuck_is_killed_after_its_silence(bench: Bench, stuck: Callable[[str], Job]) -> None:
    ended = bench.run(stuck(IN_THE_PLAN))
    assert ended.code == 6
    assert "unresponsive" in ended.output
    assert bench.aws.answer(JOB_TOKEN) is None


@pytest.mark.parametrize("is_told", [False, True], ids=["silent", "told to stop"])
def test_the_program_of_a_stuck_runner_is_interrupted_and_may_still_stop_cleanly(
    bench: Bench, stuck: Callable[[str], Job], *, is_told: bool
) -> None:
    job = stuck(IN_THE_OUTPUT)
    path = fake_engine(bench, "1.11.4", "plan", ENGINE.format(directory=bench.directory))
    process = bench.start(job, PATH=path, TIDEGATE_SILENCE_SECONDS="20" if is_told else "1")
    bench.aws.wait_for((bench.directory / "started").exists)
    if is_told:
        process.send_signal(signal.SIGTERM)
    ended = bench.finish(process)
    assert ended.code == 6
    assert (bench.directory / "saved").exists()


def test_a_runner_whose_time_is_over_is_interrupted_and_reports(bench: Bench, commit: Callable[..., str]) -> None:
    path = fake_engine(bench, "1.11.4", "plan", WAITING.format(directory=bench.directory))
    ended = bench.run(bench.job(JobKind.PLAN, commit(GOOD)), PATH=path, TIDEGATE_LIFE_SECONDS="2")
    assert ended.code == 0
    assert bench.result()["error"] == "Interrupted"


def test_a_runner_that_was_killed_ends_with_that_signal(bench: Bench, commit: Callable[..., str]) -> None:
    path = fake_engine(bench, "1.11.4", "plan", f"kill -9 $PPID; {WAITING.format(directory=bench.directory)}")
    assert bench.run(bench.job(JobKind.PLAN, commit(GOOD)), PATH=path).code == 128 + signal.SIGKILL
