"""Tell a waiting execution at once that its runner has stopped, and why, instead of after a missing heartbeat.

A runner that answered before it stopped is too late to fail: nothing happens.
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
    """A task that has stopped: its ARN, the job and start token that it was given, and why it stopped.

    ``out_of_memory`` tells that the kernel killed it, as it needed more than it has.
    On Lambda it is an invocation, with the runner's name for it; ``limit`` is that of Lambda's which has ended it.
    """

    task: str
    job: str
    start_token: str | None
    reason: str
    out_of_memory: bool = False
    limit: Limit | None = None


def report_stopped_runner(ports: Ports, stopped: StoppedRunner) -> None:
    """Fail what waits for this task: the job's result if this very task took the job, or else its start.

    Whoever took the job answered its start before. An earlier task of the same job, whose start came too late, must
    not fail the task that took it, and its limit is none of that one's.
    """
    token = ports.jobs.token_of(stopped.job, stopped.task) or stopped.start_token
    if token and stopped.limit is not None and ports.jobs.runner(stopped.job) in {None, stopped.task}:
        ports.jobs.report_limit(stopped.job, stopped.limit)
    ports.jobs.report_stopped(stopped.job, stopped.task)
    if token:
        _fail(ports, token, _explained(ports, stopped))
    _give_back_slot(ports, stopped.job)


def _give_back_slot(ports: Ports, job: str) -> None:
    """Give back the slot of a deployment that ended before its runner did. Layers give theirs back themselves."""
    with suppress(NotFound):
        owner, kind, _ = job_parts(job)
        if kind is not JobKind.SPECULATE:
            release_slot(ports, owner)


def report_failed_call(ports: Ports, stopped: StoppedRunner, digest: str) -> None:
    """Fail what waits for a call of Lambda, which was made for the job with this digest.

    Whatever has the function's role can report one: it must be of a plan that was begun on Lambda, and know its
    digest, which reaches only the runner of this job. Raise NotItsJob otherwise.
    """
    try:
        job = ports.jobs.get(stopped.job)
    except NotFound:
        raise NotItsJob(stopped.job) from None
    if job.runner is not PlanRunner.LAMBDA or job_digest(job) != digest:
        raise NotItsJob(stopped.job)
    report_stopped_runner(ports, stopped)


def _explained(ports: Ports, stopped: StoppedRunner) -> str:
    """Return the reason, and what to do if it is known: of its image, its network or its memory."""
    if not stopped.out_of_memory:
        advice = stop_advice(stopped.reason)
        return f"{stopped.reason.rstrip('.')}. {advice}" if advice else stopped.reason
    with suppress(NotFound):
        return f"{stopped.reason}. {out_of_memory(ports.jobs.get(stopped.job).size)}"
    return stopped.reason


def _fail(ports: Ports, token: str, reason: str) -> None:
    with suppress(TooLate):
        ports.workflows.fail(token, "RunnerStopped", json.dumps({"message": reason}))
