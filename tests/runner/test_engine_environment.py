"""What the engine's process gets besides its credentials."""

from __future__ import annotations

from pathlib import Path

from runner.engine_environment import engine_environment

KEYS = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/credentials"}


def test_the_engine_collects_garbage_less_often_within_half_of_the_tasks_memory() -> None:
    environment = engine_environment({}, Path("/home"), KEYS)
    assert (environment["GOGC"], environment["GOMEMLIMIT"]) == ("200", "1GiB")


def test_the_task_definition_may_set_the_garbage_collection_itself() -> None:
    environment = engine_environment({"GOGC": "100", "GOMEMLIMIT": "4GiB"}, Path("/home"), KEYS)
    assert (environment["GOGC"], environment["GOMEMLIMIT"]) == ("100", "4GiB")
