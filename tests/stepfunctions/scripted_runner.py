"""Stands for ``python -m runner`` where no engine is needed: what happens is written in the root's name.

Everything but the engine's own work is the real runner: it answers the start token, takes the job, sends
heartbeats, stores the log, reports. The words in the root's name that it acts on are in ``_AT_START``,
``_PLANS`` and ``_APPLIES``; a word that ends with ``-once`` counts for the first attempt only.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import runner.run
import runner.speculate_job
from runner.__main__ import main
from runner.faults import EngineFailed, PlanAltered, RunnerFault
from runner.job import Preparation, Tools
from tidegate.deploys.rules.job import TakenJob, plan_prefix
from tidegate.plans.rules.plan import Artifact, Plan, PlannedChanges

#: Where a runner leaves a note that it was started: what comes after must not do the same again.
NOTES = "SCRIPTED_RUNNER_NOTES"
_ENGINE_VERSION = "1.2.3"
_SLOW_SECONDS = 24.0
#: Beats, in seconds: far apart for a runner that seems dead, close together for one that only takes long.
_NEVER, _OFTEN = "86400", "0.2"
#: What a job's id holds where its runner does not start, starts late, or does not beat.
NEVER_STARTS, STARTS_LATE, SILENT = "never-starts", "starts-late-once", "silent-in-"


def _wait_for_ever() -> NoReturn:
    while True:
        threading.Event().wait()


def _die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    _wait_for_ever()


def _work_until_told(tools: Tools) -> NoReturn:
    while True:
        threading.Event().wait(0.05)
        tools.interruption.check()


def _fail(_: Tools) -> NoReturn:
    raise EngineFailed("The engine ended with exit code 1.")


def _fault(_: Tools) -> NoReturn:
    raise RunnerFault("The disk is full.")


def _find_plan_altered(_: Tools) -> NoReturn:
    raise PlanAltered("The stored plan is not the reviewed one.")


def _take_long(_: Tools) -> None:
    threading.Event().wait(_SLOW_SECONDS)


_Act = Callable[[Tools], None]
_PLANS: dict[str, _Act] = {
    "plan-fails": _fail,
    "plan-faults": _fault,
    "plan-is-slow": _take_long,
    "dies-in-plan": lambda _: _die(),
    "silent-in-plan": lambda _: _wait_for_ever(),
    "hangs-in-plan": _work_until_told,
}
_APPLIES: dict[str, _Act] = {
    "apply-fails": _fail,
    "apply-altered": _find_plan_altered,
    "dies-in-apply": lambda _: _die(),
    "silent-in-apply": lambda _: _wait_for_ever(),
    "hangs-in-apply": _work_until_told,
}
_CHANGES = {
    "plan-is-empty": PlannedChanges(),
    "plan-only-adds": PlannedChanges(add=1),
}


class NoPreparation(Preparation):
    """Finds no engine and assumes no role."""

    def __init__(self, _tools: Tools, _job: object) -> None:
        self._endpoint = None


def _act(acts: dict[str, _Act], tools: Tools, taken: TakenJob) -> None:
    name, attempt = taken.job.root.name, taken.job.id.rpartition("-")[2]
    for word, act in acts.items():
        if word in name and (attempt == "1" or f"{word}-once" not in name):
            act(tools)


def _plan(tools: Tools, _: object, taken: TakenJob) -> dict[str, Any]:
    tools.log.say(f"planning {taken.job.root.name}")
    _act(_PLANS, tools, taken)
    name = taken.job.root.name
    changes = next((change for word, change in _CHANGES.items() if word in name), PlannedChanges(add=1, destroy=1))

    def store(file: str) -> Artifact:
        key, content = f"{plan_prefix(taken.job.id)}/{file}", b"{}" if file.endswith(".json") else file.encode()
        return Artifact(key, tools.aws.put_object(tools.settings.bucket, key, content))

    files = {
        field: store(file) for field, file in {"file": "plan.tfplan", "json": "plan.json", "text": "plan.txt"}.items()
    }
    return asdict(Plan(job=taken.job.id, changes=changes, engine_version=_ENGINE_VERSION, lock_file=None, **files))


def _apply(tools: Tools, _: object, taken: TakenJob) -> dict[str, Any]:
    tools.log.say(f"applying {taken.job.root.name}")
    _act(_APPLIES, tools, taken)
    return {"job": taken.job.id, "last_lines": "Apply complete!"}


def _is_first(job: str) -> bool:
    """Tell whether this is the first runner of its job, and leave a note for the next."""
    try:
        (Path(os.environ[NOTES]) / job).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _may_start(job: str) -> bool:
    kind = job.split("-")[-2]
    if f"{kind}-{NEVER_STARTS}" in job:
        return False
    return not (f"{kind}-{STARTS_LATE}" in job and _is_first(job))


def _beats(job: str) -> str:
    return _NEVER if SILENT in job else _OFTEN


if __name__ == "__main__":
    if not _may_start(os.environ["TIDEGATE_JOB"]):
        _wait_for_ever()
    runner.run.Preparation, runner.run.run_plan, runner.run.run_apply = NoPreparation, _plan, _apply  # type: ignore[assignment,misc]
    runner.speculate_job.run_speculation = _plan  # type: ignore[assignment]
    sys.exit(main({**os.environ, "TIDEGATE_HEARTBEAT_SECONDS": _beats(os.environ["TIDEGATE_JOB"])}))
