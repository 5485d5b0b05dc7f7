"""When a runner's task is stopped: its job is no longer awaited, and it runs on, at cost."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tidegate.deploys.rules.job import JobKind, job_parts
from tidegate.deploys.rules.runner_size import USUAL_SECONDS

#: A runner ends its job itself 7 minutes after the job's time limit (``runner.settings``).
SPARE_SECONDS = 15 * 60
#: How long a runner of an unknown job may live.
LIFE_SECONDS = USUAL_SECONDS + SPARE_SECONDS
#: A runner that has reported stores its log and ends; a new task is not visible everywhere yet.
GRACE_SECONDS = 120
_OTHER_MACHINES = (
    "The runner image is built for another CPU architecture than that of this installation. Ask the operators of "
    "Tidegate to set runner_image or architecture in cdk.json."
)
_NO_ROUTE = (
    "The runner has no network access from its subnet. Ask the operators of Tidegate to give the subnet a route "
    "to the internet. `tidegate doctor` checks the subnets."
)
#: What is to be done by what ECS says of a task that never ran (Amazon ECS, Stopped tasks error messages:
#: https://docs.aws.amazon.com/AmazonECS/latest/developerguide/stopped-task-error-codes.html;
#: ActionIQ/terraform-aws-retool-ecs-fargate#20 has the time-out of a task without an address). The first that fits.
_ADVICE = {
    "does not contain descriptor matching platform": _OTHER_MACHINES,
    "exec format error": _OTHER_MACHINES,
    "i/o timeout": _NO_ROUTE,
    "context deadline exceeded": _NO_ROUTE,
    "request canceled while waiting for connection": _NO_ROUTE,
}


@dataclass(frozen=True, slots=True)
class RunnerTask:
    """A task that runs: its ARN, the id of the job that it was started for, and when it was made."""

    arn: str
    job: str
    made_at: datetime


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job's status: who took it, whether its result is awaited, when that last changed, and its time limit."""

    taken_by: str | None
    is_dependency: bool
    changed_at: datetime | None
    seconds: int = USUAL_SECONDS


def reason_to_stop(task: RunnerTask, status: JobStatus | None, now: datetime) -> str:
    """Return why a task is stopped, empty for one that is not. ``status`` is None where there is no such job.

    An apply, or a part of one, runs until its time limit, whoever waits for it: stopping it would leave more unknown.
    """
    life = LIFE_SECONDS if status is None else status.seconds + SPARE_SECONDS
    if _seconds(task.made_at, now) > life:
        return f"It exceeded its time limit of {life // 60} minutes."
    if _seconds(task.made_at, now) <= GRACE_SECONDS:
        return ""
    if status is None:
        return f"The job {task.job[:100]!a} no longer exists."
    if (status.taken_by or "").startswith("arn:") and status.taken_by != task.arn:
        return f"Another runner has claimed the job {task.job}."
    if status.is_dependency or job_parts(task.job)[1] in {JobKind.APPLY, JobKind.TASK}:
        return ""
    return f"The job {task.job} has ended or was cancelled." if _seconds(status.changed_at, now) > GRACE_SECONDS else ""


def stop_advice(reason: str) -> str:
    """Return what to do about a task that ECS stopped for a reason, in sentences; empty where nothing is known."""
    return next((advice for said, advice in _ADVICE.items() if said in reason), "")


def _seconds(begin: datetime | None, end: datetime) -> float:
    """Return the seconds between two times; more than any limit where the first is not known."""
    return (end - begin).total_seconds() if begin else float("inf")
