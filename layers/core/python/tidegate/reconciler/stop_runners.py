"""Stop tasks of runners whose job is no longer awaited, or that exceed every job's time limit."""

from __future__ import annotations

from datetime import datetime

from tidegate.deploys.rules.job import JobKind, job_parts
from tidegate.deploys.rules.runner_task import JobStatus, RunnerTask, reason_to_stop
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import NotFound

_AT_MOST = 500


def stop_runners(ports: Ports, turn: ReconcilerPass) -> int:
    def stop(task: RunnerTask) -> bool:
        reason = reason_to_stop(task, _status(ports, task.job), turn.clock.now())
        if reason:
            ports.runners.stop(task.arn, reason)
        return bool(reason)

    return turn.each(ports.runners.running(), stop, _AT_MOST)


def _status(ports: Ports, job: str) -> JobStatus | None:
    try:
        seconds = ports.jobs.get(job).seconds
        owner, kind, _ = job_parts(job)
    except NotFound:
        return None
    return JobStatus(ports.jobs.runner(job), *_awaited(ports, owner, kind, job), seconds)


def _awaited(ports: Ports, owner: str, kind: JobKind, job: str) -> tuple[bool, datetime | None]:
    """Return whether the job's result is awaited, and when that last changed.

    A replay always counts as awaited until its time limit: it takes no slot, and its heartbeat ends it before that
    once nobody waits.
    """
    if kind is JobKind.REPLAY:
        return True, None
    try:
        if kind is JobKind.SPECULATE:
            layer = ports.speculative_plans.get(owner)
            return layer.state is LayerState.PLANNING and layer.job == job, layer.changed_at
        deployment = ports.deployments.get(owner)
    except NotFound:
        return False, None
    return deployment.state is State.PLANNING and deployment.planned.job == job, deployment.changed_at
