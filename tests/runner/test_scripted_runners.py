"""What stands for the preparation of the engine, where none is needed, answers what a job asks of it at its end."""

from __future__ import annotations

from typing import Any

import pytest

import bench.scripted_runner
import tests.stepfunctions.scripted_runner


@pytest.mark.parametrize("module", [bench.scripted_runner, tests.stepfunctions.scripted_runner])
def test_jobs_without_preparation_may_fail_and_end(module: Any) -> None:
    preparation = module.NoPreparation(None, None)
    assert preparation.credentials_problem == ""
    preparation.close()
