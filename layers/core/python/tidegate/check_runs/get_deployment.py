"""Read a deployment: its jobs, its plan, its lock. Read-only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind, job_id, job_parts, module_job_id
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.slots import SlotWait
from tidegate.deploys.rules.state import State
from tidegate.deploys.slots.get_slot_wait import get_slot_wait
from tidegate.jobs.begin_job import PLAN_ATTEMPTS
from tidegate.plans.rules.plan import Plan
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound

#: Bytes of a plan on a page: the job's log has the whole.
SHOWN_PLAN = 400_000
#: Jobs of tasks that are looked for where nothing counts them, in one read.
_SOUGHT_TASKS = 30


@dataclass(frozen=True, slots=True)
class PlanText:
    """The plan as the engine prints it. ``altered``: it is not what was planned, so it must not be shown."""

    text: str
    size: int
    altered: bool

    @property
    def cut(self) -> bool:
        return self.size > SHOWN_PLAN


@dataclass(frozen=True, slots=True)
class DeploymentView:
    """A deployment and what belongs to it: its jobs by age, its plan, its queue's head, its check run's address.

    ``slot`` says why no runner starts for it yet.
    """

    deployment: Deployment
    jobs: tuple[str, ...]
    plan: PlanText | None
    head: QueueHead
    check_run: str | None
    slot: SlotWait | None = None


def describe_deployment(ports: Ports, deployment: Deployment) -> DeploymentView:
    """Return everything that a page shows of ``deployment``."""
    head, _ = ports.queues.read(deployment.queue)
    published = ports.check_runs.published(deployment.id)
    address = ports.addresses.check_run_url(deployment.repository, published.id) if published else None
    jobs, plan, slot = jobs_of(ports, deployment), _plan(ports, deployment), get_slot_wait(ports, deployment)
    return DeploymentView(deployment, jobs, plan, head, address, slot)


def jobs_of(ports: Ports, deployment: Deployment) -> tuple[str, ...]:
    """Return the ids of a deployment's jobs, oldest first. The apply of a cluster runs as one job for each task."""
    if deployment.settings.run.cluster is not None:
        return (*_plans(ports, deployment), *(_tasks(ports, deployment) if deployment.apply.job else ()))
    applies = [deployment.apply.job] if deployment.apply.job else []
    return (*_plans(ports, deployment), *applies)


def _tasks(ports: Ports, deployment: Deployment) -> Iterator[str]:
    """Yield the jobs of a cluster's tasks, the apply of its root module first.

    The cluster's record counts those of the last workflow; of an earlier one, the first ones are looked for.
    """
    record = ports.clusters.cluster(deployment.repository, deployment.root.name)
    run = record.run if record else None
    if run is not None and run.deployment == deployment.id:
        yield from (each.apply for each in run.phases if each.apply)
        yield from (job_id(deployment.id, JobKind.TASK, number) for number in range(1, run.jobs + 1))
        return
    module = module_job_id(deployment.id)
    tasks = [job_id(deployment.id, JobKind.TASK, number) for number in range(1, _SOUGHT_TASKS + 1)]
    found = ports.jobs.existing([module, *tasks])
    yield from (job for job in (module, *tasks) if job in found)


def _plans(ports: Ports, deployment: Deployment) -> Iterator[str]:
    """Yield the plan jobs: the deployment names the one that made the plan, earlier ones have lower numbers."""
    ids = [job_id(deployment.id, JobKind.PLAN, attempt) for attempt in range(1, PLAN_ATTEMPTS + 1)]
    if deployment.planned.plan is not None:
        _, _, attempt = job_parts(deployment.planned.plan.job)
        yield from ids[: attempt - 1]
        yield deployment.planned.plan.job
    elif deployment.state is not State.QUEUED:
        found = ports.jobs.existing(ids)
        yield from (job for job in ids if job in found)


def _plan(ports: Ports, deployment: Deployment) -> PlanText | None:
    return plan_text(ports, deployment.planned.plan) if deployment.planned.plan else None


def plan_text(ports: Ports, plan: Plan) -> PlanText | None:
    """Return a plan's text; None if it has expired."""
    try:
        start = ports.artifacts.get_start(plan.text.key, SHOWN_PLAN)
    except NotFound:
        return None
    altered = bool(start.sha256) and start.sha256 != plan.text.sha256
    return PlanText("" if altered else start.content.decode("utf-8", "replace"), start.size, altered)
