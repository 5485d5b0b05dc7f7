"""Begin a speculative plan: take its concurrency slots, and create the job that a runner claims.

A repeated call with the same message changes nothing and returns the same.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.clusters.begin_cluster import with_known
from tidegate.deploys.choose_plan_runner import choose_plan_runner, needs_fargate
from tidegate.deploys.rules.job import Job, JobKind, job_id
from tidegate.deploys.rules.plan_slots import asked
from tidegate.deploys.rules.runner_size import size_of
from tidegate.deploys.rules.speculative_plan import Checkout, LayerState, SpeculativePlan
from tidegate.deploys.slots.assign_plan_slots import release_all_slots
from tidegate.deploys.slots.keep_slots import release_slots, take_slot
from tidegate.deploys.stop_runner import stop_runner
from tidegate.messages import BeginSpeculativePlan, JobBegun
from tidegate.ports import Ports
from tidegate.rules.errors import Conflict, NoFreePlanSlot, NotFound, WrongState

#: Attempts to plan in all; the number is the pull-request machine's.
SPECULATIVE_ATTEMPTS = 2


def begin_speculative_plan(ports: Ports, message: BeginSpeculativePlan) -> JobBegun:
    """Take both concurrency slots, create the job and move the layer on. It keeps the slots between attempts.

    Raise NotFound if the layer is gone, WrongState if it has ended, and NoFreePlanSlot or NoFreeSlot if it has to wait:
    no job has begun then. A layer that waits for the repository's slot has none of the installation, so there is no
    deadlock. Raise Conflict after a concurrent change of the layer, and RunnerNotOffered if the root requests more than
    the installation allows.
    """
    layer = _undone(ports, message.layer)
    places = ports.plan_slots.take(layer.repository, layer.id, ports.plan_slot_limit)
    if layer.id not in places.held:
        release_slots(ports, [layer.id])
        raise NoFreePlanSlot(layer.id, asked(places, layer.id, ports.plan_slot_limit).reason)
    job = _job(ports, layer, job_id(layer.id, JobKind.SPECULATE, message.attempt))
    job = choose_plan_runner(ports, with_known(ports, job))
    if needs_fargate(job):
        take_slot(ports, layer.id)
    try:
        return _begin(ports, layer, job, message)
    except Conflict:
        _give_back(ports, layer)
        raise


def _undone(ports: Ports, identifier: str) -> SpeculativePlan:
    layer = ports.speculative_plans.get(identifier)
    if layer.is_done:
        raise WrongState(layer.id, layer.state, "a plan")
    return layer


def _give_back(ports: Ports, layer: SpeculativePlan) -> None:
    """Release the slot if the layer was cancelled while it took one: the canceller could not know."""
    try:
        _undone(ports, layer.id)
    except (NotFound, WrongState):
        release_all_slots(ports, layer.repository, [layer.id])


def _begin(ports: Ports, layer: SpeculativePlan, job: Job, message: BeginSpeculativePlan) -> JobBegun:
    ports.jobs.create(job)
    if layer.job != job.id:
        stop_runner(ports, layer.job)
        reason, at = _reason(message.tries, job.note), ports.clock.now()
        layer = ports.speculative_plans.save(
            replace(layer, state=LayerState.PLANNING, reason=reason, job=job.id, changed_at=at)
        )
    if not layer.schedule:
        ports.event_publisher.layer_changed(layer)
    return JobBegun.of(job)


def _job(ports: Ports, layer: SpeculativePlan, job: str) -> Job:
    return Job(
        id=job,
        deployment=layer.id,
        kind=JobKind.SPECULATE,
        repository=layer.repository,
        sha=layer.base_sha if layer.gone else layer.sha,
        clone_url=ports.addresses.clone_url(layer.repository),
        root=layer.root,
        stack=layer.stack,
        run=layer.run,
        allowed_providers=layer.allowed_providers,
        allowed_modules=layer.allowed_modules,
        base_sha=layer.base_sha,
        merges=layer.checkout is Checkout.MERGE and not layer.gone,
        fork_sha=layer.fork_sha,
        destroy=layer.destroy,
        drift=bool(layer.schedule),
        size=size_of(layer.run.runner, ports.runner_offer),
        ref=ports.addresses.pull_request_ref(layer.pull_request) if layer.pull_request else "",
    )


def _reason(tries: int, note: str) -> str:
    if tries == 1:
        return ""
    return note or f"Attempt {tries} of {SPECULATIVE_ATTEMPTS}: the previous one was interrupted."
