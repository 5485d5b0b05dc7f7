"""Choose where a plan runs, and remember the roots whose plans are too large for Lambda."""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.job import Job, job_id, job_parts
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner, form_of, kept, where
from tidegate.deploys.rules.runner_size import with_more_memory
from tidegate.ports import Ports
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import NotFound


def needs_fargate(job: Job) -> bool:
    """Tell whether a job runs on Fargate, and so needs a concurrency slot."""
    return job.runner is not PlanRunner.LAMBDA


def choose_plan_runner(ports: Ports, job: Job) -> Job:
    """Return the job with its runner. The same job always gets the same runner.

    Plans run on Fargate if there is no Lambda function for plans, for drift detection, and for roots with a larger
    runner.
    """
    if not ports.plan_runner.function or job.drift or _is_larger(ports, job):
        return job
    try:
        made = ports.jobs.get(job.id)
    except NotFound:
        return _placed(ports, job)
    return replace(job, runner=made.runner, note=made.note, size=made.size)


def _placed(ports: Ports, job: Job) -> Job:
    queue, form, now = (
        queue_id(job.repository, job.root.name),
        form_of(job, ports.plan_runner.function),
        ports.clock.now(),
    )
    left = _left(ports, job)
    if left is not None and left.is_of_the_root:
        ports.plan_runners.keep(queue, kept(left, form, now))
    chosen = where(left, None if left else ports.plan_runners.kept(queue, form), now)
    size = job.size
    if chosen.limit is Limit.MEMORY:
        size = with_more_memory(size, ports.plan_runner.memory, ports.runner_offer.most)
    return replace(job, runner=chosen.runner, note=chosen.note, size=size)


def _left(ports: Ports, job: Job) -> Limit | None:
    """Return the limit of Lambda that ended the previous attempt; None if no attempt ran there or met a limit."""
    owner, kind, attempt = job_parts(job.id)
    before = job_id(owner, kind, attempt - 1)
    try:
        if attempt == 1 or ports.jobs.get(before).runner is not PlanRunner.LAMBDA:
            return None
    except NotFound:
        return None
    return ports.jobs.limit(before) or Limit.ENDED


def _is_larger(ports: Ports, job: Job) -> bool:
    """Tell whether a job needs more than the default runner. The Lambda function has one size."""
    asked, usual = job.size, ports.runner_offer.usual
    return asked.cpu > usual.cpu or asked.memory > usual.memory or asked.disk > usual.disk
