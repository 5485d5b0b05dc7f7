"""What a runner makes of its size: the engine's memory, and what it says where that was too small."""

from __future__ import annotations

from collections.abc import Callable

from tests.runner.conftest import Bench
from tests.runner.engines import fake_engine, provisioned
from tests.runner.speculation import resource
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.runner_size import RunnerSize

Commit = Callable[..., str]
LARGE = RunnerSize(2048, 8192)


def test_the_engine_may_take_half_of_its_runners_memory(bench: Bench, commit: Commit) -> None:
    sha = commit(provisioned(f"env > {bench.directory}/environment"))
    bench.run(bench.job(JobKind.APPLY, sha, bench.plan(sha), size=LARGE))
    assert "GOMEMLIMIT=4096MiB\n" in (bench.directory / "environment").read_text()


def test_an_engine_that_is_killed_says_how_much_memory_it_had_and_what_to_write(bench: Bench, commit: Commit) -> None:
    path = fake_engine(bench, "1.11.4", "plan", "kill -KILL $$")
    bench.run(bench.job(JobKind.PLAN, commit(resource("network")), size=LARGE), PATH=path)
    result = bench.result()
    assert result["error"] == "TerraformClientError"
    assert "terraform plan was killed by SIGKILL. It ran out of memory: its runner has 8 GB" in result["message"]
    assert "runner: {memory: 9}" in result["message"]


def test_an_engine_that_fails_by_itself_says_nothing_of_memory(bench: Bench, commit: Commit) -> None:
    path = fake_engine(bench, "1.11.4", "plan", "exit 1")
    bench.run(bench.job(JobKind.PLAN, commit(resource("network"))), PATH=path)
    assert "memory" not in bench.result()["message"]
