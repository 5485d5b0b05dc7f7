"""Fail a waiting execution when its runner stops, with the reason, instead of after a missing heartbeat.

If the runner answered before it stopped, nothing happens.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from tidegate.deploys.rules.job import JobKind, job_digest, job_parts
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner
from tidegate.deploys.rules.runner_size import out_of_memory
from tidegate.deploys.rules.runner_task import stop_advice
from tidegate.deploys.slots.keep_slots import release_slot
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound, NotItsJob, TooLate


@dataclass(frozen=True, slots=True)
class StoppedRunner:
    """A stopped task: its ARN, its job and start token, and why it stopped.

    ``out_of_memory`` tells that the kernel killed it. On Lambda it is an invocation, with the runner's name for it;
    ``limit`` is the limit of Lambda that ended it.
    """

    task: str
    job: str
    start_token: str | None
    reason: str
    out_of_memory: bool = False
    limit: Limit | None = None


def report_stopped_runner(ports: Ports, stopped: StoppedRunner) -> None:
    """Fail the token that waits for this task: the job's result if this task took the job, otherwise its start.

    A runner that took the job has answered its start. An earlier task of the same job, whose start came too late, must
    not fail the task that took it, and its limit does not apply to that one.
    """
    token = ports.jobs.token_of(stopped.job, stopped.task) or stopped.start_token
    if token and stopped.limit is not None and ports.jobs.runner(stopped.job) in {None, stopped.task}:
        ports.jobs.report_limit(stopped.job, stopped.limit)
    ports.jobs.report_stopped(stopped.job, stopped.task)
    if token:
        _fail(ports, token, _explained(ports, stopped))
    _give_back_slot(ports, stopped.job)


def _give_back_slot(ports: Ports, job: str) -> None:
    """Release the slot of a deployment that ended before its runner.

    Layers release theirs themselves, and replays have none.
    """
    with suppress(NotFound):
        owner, kind, _ = job_parts(job)
        if kind in {JobKind.PLAN, JobKind.APPLY}:
            release_slot(ports, owner)


def report_failed_call(ports: Ports, stopped: StoppedRunner, digest: str) -> None:
    """Fail the token that waits for a call of Lambda for the job with this digest.

    Anything with the function's role can report one: it must be of a plan that was started on Lambda, and know its
    digest, which only this job's runner receives. Raise NotItsJob otherwise.
    """
    try:
        job = ports.jobs.get(stopped.job)
    except NotFound:
        raise NotItsJob(stopped.job) from None
    if job.runner is not PlanRunner.LAMBDA or job_digest(job) != digest:
        raise NotItsJob(stopped.job)
    report_stopped_runner(ports, stopped)


def _explained(ports: Ports, stopped: StoppedRunner) -> str:
    """Return the reason, and what to do if that is known: about the image, the network or the memory."""
    if not stopped.out_of_memory:
        advice = stop_advice(stopped.reason)
        return f"{stopped.reason.rstrip('.')}. {advice}" if advice else stopped.reason
    with suppress(NotFound):
        job = ports.jobs.get(stopped.job)
        return f"{stopped.reason}. {out_of_memory(job.size, has_root=job.kind is not JobKind.REPLAY)}"
    return stopped.reason


def _fail(ports: Ports, token: str, reason: str) -> None:
    with suppress(TooLate):
        ports.workflows.fail(token, "RunnerStopped", json.dumps({"message": reason}))
