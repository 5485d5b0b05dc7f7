"""What the engine's process gets besides its credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import memory
from runner.engine_environment import engine_environment
from tidegate.deploys.rules.runner_size import RunnerSize

KEYS = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/credentials"}


def test_the_engine_collects_garbage_less_often_within_half_of_the_tasks_memory() -> None:
    environment = engine_environment({}, Path("/home"), KEYS, RunnerSize())
    assert (environment["GOGC"], environment["GOMEMLIMIT"]) == ("200", "1024MiB")


@pytest.mark.parametrize(
    ("counted", "kills"),
    [("low 0\noom 2\noom_kill 1\n", 1), ("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3), ("low 0\n", 0)],
)
def test_the_kernels_kills_are_counted(tmp_path: Path, counted: str, kills: int) -> None:
    counter = tmp_path / "events"
    counter.write_text(counted)
    assert memory.kills((tmp_path / "none", counter)) == kills


def test_a_larger_runner_lets_the_engine_take_more() -> None:
    assert engine_environment({}, Path("/home"), KEYS, RunnerSize(2048, 8192))["GOMEMLIMIT"] == "4096MiB"


def test_the_task_definition_may_set_the_garbage_collection_itself() -> None:
    environment = engine_environment({"GOGC": "100", "GOMEMLIMIT": "4GiB"}, Path("/home"), KEYS, RunnerSize())
    assert (environment["GOGC"], environment["GOMEMLIMIT"]) == ("100", "4GiB")
