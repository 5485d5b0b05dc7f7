"""The tasks and hooks of a cluster's workflow: begin each, and record what it did. Repeated calls return the same."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.clusters.module_apply import give_up
from tidegate.clusters.related import related_clusters
from tidegate.clusters.rules.execution_refusals import NotItsTurn
from tidegate.clusters.rules.functions import function_arn
from tidegate.clusters.rules.locking import check_lock
from tidegate.clusters.rules.order import TaskOrder, TaskResult
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook
from tidegate.clusters.rules.progress import (
    Next,
    TaskDecision,
    begun,
    check_values,
    decide_task,
    done,
    failed,
    hook_of,
    is_checkpointed,
    seconds_of,
    undone_by,
    values_for,
)
from tidegate.clusters.rules.record import (
    Checkpoint,
    ClusterRecord,
    Phase,
    PhaseState,
    Place,
    checkpoint_key,
    current_of,
)
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.failure import in_words, read_cause
from tidegate.deploys.rules.job import JobKind, job_id, module_job, task_job
from tidegate.messages import JobBegun
from tidegate.messages.clusters import (
    AtPlace,
    BeginClusterTask,
    ClusterTaskBegun,
    ClusterTaskFailed,
    FailClusterTask,
    RecordClusterTask,
)
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import DeploymentCancelled

#: Seconds of a job beside its task or hook: a clone of the commit before it, and what runners keep for the report.
_AROUND = 300

_STATES = {Next.DONE: PhaseState.DONE_BEFORE, Next.NOT_NEEDED: PhaseState.NOT_NEEDED}


@dataclass(frozen=True, slots=True)
class _At:
    """A place in a workflow, as it is now."""

    deployment: Deployment
    record: ClusterRecord
    plan: ClusterPlan
    place: Place

    @property
    def phase(self) -> Phase | None:
        return self.record.working.phase(self.place)


def _read(ports: Ports, message: AtPlace) -> _At:
    """Return the place. Raise StaleFence."""
    deployment = ports.deployments.get(message.deployment)
    record = ports.clusters.cluster(deployment.repository, deployment.root.name)
    record = check_lock(record, deployment.root.name, message.execution)
    plan = ports.cluster_files.plan(record.working.plan)
    return _At(deployment, record, plan, Place(message.task, message.hook, message.registrar))


def begin_cluster_task(ports: Ports, message: BeginClusterTask) -> ClusterTaskBegun:
    """Decide whether a task or hook runs, and create its job, or return the function to call.

    Raise StaleFence, NotItsTurn, MissingValue, FunctionNotListed, and DeploymentCancelled.
    """
    what_follows = deciding_again(lambda: _begin(ports, message))
    ports.event_publisher.progress_changed(message.deployment)
    return what_follows


def _begin(ports: Ports, message: BeginClusterTask) -> ClusterTaskBegun:
    at = _read(ports, message)
    decision = _decide(ports, at)
    now = ports.clock.now()
    if decision.next is not Next.RUN:
        _keep_values(ports, at, TaskResult(decision.values))
        left_out = Phase(at.place, _STATES[decision.next], now, now, reason=decision.reason)
        ports.clusters.save(at.record.with_phase(left_out))
        return ClusterTaskBegun(next=decision.next.value, reason=decision.reason)
    if at.deployment.outcome.cancelled and at.record.working.first_error is None:
        raise DeploymentCancelled(at.deployment.id)
    hook = hook_of(at.plan, at.place)
    if hook is not None and hook.function:
        return _call(ports, at, hook, message.attempt)
    if hook is None and at.plan.applies_at(at.place.task) and not message.applied:
        return _apply(ports, at)
    return _run(ports, at, hook, message.attempt)


def _decide(ports: Ports, at: _At) -> TaskDecision:
    checkpoint = None
    if is_checkpointed(at.plan, at.place):
        key = checkpoint_key(at.record, at.place)
        checkpoint = ports.clusters.checkpoint(at.record.repository, at.record.name, key)
    return decide_task(at.record, at.plan, at.place, checkpoint)


def _call(ports: Ports, at: _At, hook: PlannedHook, attempt: int) -> ClusterTaskBegun:
    function = function_arn(ports.cluster_functions, hook.function)
    now = ports.clock.now()
    ports.clusters.save(begun(at.record, at.plan, Phase(at.place, PhaseState.RUNNING, now, attempt=attempt)))
    values = values_for(at.plan, at.place, _context(ports, at))
    payload = {
        "repository": at.record.repository,
        "cluster": at.record.name,
        "kind": at.record.kind.value,
        "operation": at.plan.workflow.operation.value,
        "deployment": at.deployment.id,
        "task": at.place.task,
        "hook": at.place.hook,
        "fence": at.record.fence,
        "values": dict(values),
    }
    return ClusterTaskBegun(next="call", function=function, payload=payload, seconds=hook.seconds)


def _apply(ports: Ports, at: _At) -> ClusterTaskBegun:
    """Create the job that applies the root module. Repeated, or for another attempt, it is the same one."""
    assert at.plan.terraform is not None  # noqa: S101  # There is something to apply.
    apply = ports.jobs.get(at.deployment.apply.job or "")
    job = module_job(apply, at.plan.terraform, seconds_of(at.plan, at.place.task) + _AROUND)
    if at.phase is None:
        now = ports.clock.now()
        running = Phase(at.place, PhaseState.RUNNING, now, job=job.id, apply=job.id, applying=True)
        ports.clusters.save(begun(at.record, at.plan, running))
    ports.jobs.create(job)
    made = JobBegun.of(job)
    return ClusterTaskBegun(next="apply", job=made.job, digest=made.digest, size=made.size, seconds=job.seconds)


def _run(ports: Ports, at: _At, hook: PlannedHook | None, attempt: int) -> ClusterTaskBegun:
    """Create the job. Repeated, it is the same one, for which nothing is stored again."""
    run, phase = at.record.working, at.phase
    is_running = phase is not None and phase.state is PhaseState.RUNNING and phase.job != phase.apply
    repeated = phase is not None and is_running and phase.attempt == attempt
    name = phase.job if phase and repeated else job_id(at.deployment.id, JobKind.TASK, run.jobs + 1)
    all_ = related_clusters(ports, at.record.repository, at.plan.cluster)
    management = next((each for each in all_ if each.name == at.plan.cluster.management), None)
    order = TaskOrder(
        cluster=at.plan.cluster,
        operation=at.plan.workflow.operation,
        task=at.place.task,
        hook=at.place.hook,
        registrar=at.place.registrar,
        fence=at.record.fence,
        plan=run.plan,
        current=current_of(at.record, all_),
        management=current_of(management, all_) if management else None,
        values=values_for(at.plan, at.place, _context(ports, at)),
    )
    seconds = (hook.seconds if hook else seconds_of(at.plan, at.place.task)) + _AROUND
    apply = ports.jobs.get(at.deployment.apply.job or "")
    if not repeated:
        give_up(ports, phase)
        record = at.record.with_run(replace(run, jobs=run.jobs + 1))
        running = Phase(at.place, PhaseState.RUNNING, ports.clock.now(), attempt=attempt, job=name)
        if phase is not None and phase.apply:  # It began with the apply.
            running = replace(phase, attempt=attempt, job=name)
        # First of all: of two tasks that begin at once, one would store its order under the other's number.
        ports.clusters.save(begun(record, at.plan, running))
    job = task_job(name, apply, ports.cluster_files.keep_order(name, order), seconds)
    ports.jobs.create(job)
    made = JobBegun.of(job)
    return ClusterTaskBegun(next="run", job=made.job, digest=made.digest, size=made.size, seconds=seconds)


def _context(ports: Ports, at: _At) -> dict[str, str]:
    return dict(ports.clusters.context(at.record.repository, at.record.name, at.deployment.id))


def _keep_values(ports: Ports, at: _At, result: TaskResult) -> None:
    ports.clusters.keep_values(at.record.repository, at.record.name, at.deployment.id, dict(result.values))


def record_cluster_task(ports: Ports, message: RecordClusterTask) -> None:
    """Store what a task or hook has produced, its checkpoint, and what it has given back.

    Raise StaleFence, NotItsTurn if it does not run any more, and UnexpectedValue.
    """
    deciding_again(lambda: _record(ports, message))
    ports.event_publisher.progress_changed(message.deployment)


def _record(ports: Ports, message: RecordClusterTask) -> None:
    at = _read(ports, message)
    phase = _running(at)
    if phase is None:
        return
    result = ports.cluster_files.result(phase.job) if phase.job else TaskResult()
    check_values(at.plan, at.place, result)
    now = ports.clock.now()
    _keep_values(ports, at, result)
    record = at.record
    if record.working.first_error is not None:
        undone = [checkpoint_key(record, each) for each in undone_by(at.plan, at.place)]
        ports.clusters.drop_checkpoints(record.repository, record.name, undone)
    elif is_checkpointed(at.plan, at.place):
        checkpoint = Checkpoint(at.place, at.deployment.id, now, result.values)
        key = checkpoint_key(record, at.place)
        ports.clusters.keep_checkpoint(record.repository, record.name, key, checkpoint)
    ports.clusters.save(done(record, at.plan, phase, result, now))


def _running(at: _At) -> Phase | None:
    """Return the phase that runs, None if its result is recorded. Raise NotItsTurn."""
    phase = at.phase
    if phase is None or phase.state is PhaseState.FAILED:
        raise NotItsTurn(f"{at.place} does not run any more, so what it did is not recorded.")
    return phase if phase.state is PhaseState.RUNNING else None


def fail_cluster_task(ports: Ports, message: FailClusterTask) -> ClusterTaskFailed:
    """Record why a task or hook has failed, and tell whether the workflow goes on. Raise StaleFence."""
    what_follows = deciding_again(lambda: _fail(ports, message))
    ports.event_publisher.progress_changed(message.deployment)
    return what_follows


def _fail(ports: Ports, message: FailClusterTask) -> ClusterTaskFailed:
    at = _read(ports, message)
    reason, now = in_words(message.error, read_cause(message.cause)), ports.clock.now()
    phase = at.phase or Phase(at.place, PhaseState.RUNNING, now)
    give_up(ports, phase)
    if phase.state is PhaseState.RUNNING:
        record = failed(at.record, at.plan, phase, reason, now)
        ports.clusters.save(record)
        phase = record.working.phase(at.place) or phase
    return ClusterTaskFailed(goes_on=phase.state is PhaseState.WARNED, reason=reason)
