"""Stands for ``python -m runner`` where the engine's work is to take a known time: all else is the real runner.

``BENCH_SECONDS`` is how long each job takes; ``BENCH_GATE`` a file without which no job ends; ``BENCH_LINES``
writes a line with the time into the log every so many seconds.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import runner.run
from runner.__main__ import main
from runner.job import Preparation, Tools
from tidegate.deploys.rules.job import TakenJob, plan_prefix
from tidegate.plans.rules.plan import Artifact, Plan, PlannedChanges

SECONDS, GATE, LINES = "BENCH_SECONDS", "BENCH_GATE", "BENCH_LINES"
_LOOK = 0.02


class NoPreparation(Preparation):
    """Finds no engine and assumes no role."""

    def __init__(self, _tools: Tools, _job: object) -> None:
        self._endpoint = None


def _work(tools: Tools) -> None:
    """Take the time, then wait for the gate."""
    until, pause = time.monotonic() + float(os.environ[SECONDS]), float(os.environ.get(LINES) or 0)
    while (left := until - time.monotonic()) > 0:
        if pause:
            tools.log.say(f"written {time.time():.6f}")
        time.sleep(min(left, pause or left))
    gate = os.environ.get(GATE)
    while gate and not Path(gate).exists():
        tools.interruption.check()
        time.sleep(_LOOK)


def _plan(tools: Tools, _: object, taken: TakenJob) -> dict[str, Any]:
    _work(tools)
    names = {"file": "plan.tfplan", "json": "plan.json", "text": "plan.txt"}
    files: dict[str, Any] = {field: _stored(tools, taken, name) for field, name in names.items()}
    changes = PlannedChanges(add=1)
    return asdict(Plan(job=taken.job.id, changes=changes, engine_version="1.2.3", lock_file=None, **files))


def _stored(tools: Tools, taken: TakenJob, name: str) -> Artifact:
    key = f"{plan_prefix(taken.job.id)}/{name}"
    return Artifact(key, tools.aws.put_object(tools.settings.bucket, key, name.encode()))


def _apply(tools: Tools, _: object, taken: TakenJob) -> dict[str, Any]:
    _work(tools)
    return {"job": taken.job.id, "last_lines": "Apply complete!"}


if __name__ == "__main__":
    runner.run.Preparation, runner.run.run_plan, runner.run.run_apply = NoPreparation, _plan, _apply  # type: ignore[assignment,attr-defined]
    sys.exit(main(os.environ))
