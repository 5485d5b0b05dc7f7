"""Choose where a plan runs, and remember which roots' plans are too large for Lambda."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tidegate.deploys.rules.job import Job, job_id, job_parts
from tidegate.deploys.rules.plan_runner import Limit, PlanRunner, form_of, kept, where
from tidegate.deploys.rules.runner_size import RunnerOffer, with_more_memory
from tidegate.ports import Clock, Jobs, PlanRunners
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import NotFound

#: Returns a plan's job with its runner and its note.
Placed = Callable[[Job], Job]


def on_fargate(job: Job) -> Job:
    """Return the job as it is where all plans run on Fargate."""
    return job


def needs_fargate(job: Job) -> bool:
    """Tell whether a job's runner is a task of Fargate, and so needs a concurrency slot."""
    return job.runner is not PlanRunner.LAMBDA


@dataclass(frozen=True, slots=True)
class PlanRunnerChooser:
    """Chooses for installations whose plans begin on Lambda.

    ``function`` tells how large its function is, ``memory`` how many MiB it has, ``offer`` what runners there are.
    """

    runners: PlanRunners
    jobs: Jobs
    clock: Clock
    function: str
    memory: int
    offer: RunnerOffer

    def place(self, job: Job) -> Job:
        """Return the job with its runner. Asked again for the same job, it answers the same.

        What looks for drift runs on Fargate: nobody waits for it. So does what asks for a larger runner.
        """
        if job.drift or self._is_larger(job):
            return job
        try:
            made = self.jobs.get(job.id)
        except NotFound:
            return self._placed(job)
        return replace(job, runner=made.runner, note=made.note, size=made.size)

    def _placed(self, job: Job) -> Job:
        queue, form, now = queue_id(job.repository, job.root.name), form_of(job, self.function), self.clock.now()
        left = self._left(job)
        if left is not None and left.is_of_the_root:
            self.runners.keep(queue, kept(left, form, now))
        chosen = where(left, None if left else self.runners.kept(queue, form), now)
        size = job.size
        if chosen.limit is Limit.MEMORY:
            size = with_more_memory(size, self.memory, self.offer.most)
        return replace(job, runner=chosen.runner, note=chosen.note, size=size)

    def _left(self, job: Job) -> Limit | None:
        """Return why the attempt before this one came to no end on Lambda; None if there was none, or not there."""
        owner, kind, attempt = job_parts(job.id)
        before = job_id(owner, kind, attempt - 1)
        try:
            if attempt == 1 or self.jobs.get(before).runner is not PlanRunner.LAMBDA:
                return None
        except NotFound:
            return None
        return self.jobs.limit(before) or Limit.ENDED

    def _is_larger(self, job: Job) -> bool:
        """Tell whether a job's runner is larger than the usual one: the function has one size for all."""
        asked, usual = job.size, self.offer.usual
        return asked.cpu > usual.cpu or asked.memory > usual.memory or asked.disk > usual.disk
