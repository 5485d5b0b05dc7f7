"""What stands for the preparation of the engine, where none is needed, answers what a job asks of it at its end."""

from __future__ import annotations

from bench.scripted_runner import NoPreparation


def test_jobs_without_preparation_may_fail_and_end() -> None:
    preparation = NoPreparation(None, None)
    assert preparation.credentials_problem == ""
    preparation.close()
