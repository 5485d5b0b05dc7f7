"""Begin a plan or an apply: take a concurrency slot, create the job for the runner, and publish the new state.

A repeated call with the same message changes nothing and returns the same.

The slot is taken last, when everything else allows the job: a deployment that waits at a gate or for people has none,
nor has a plan on Lambda. After a wait for a slot, all checks run again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tidegate.clusters.begin_cluster import with_known
from tidegate.clusters.rules.workflow import machine_name
from tidegate.deploys.check_branch import left_branch
from tidegate.deploys.choose_plan_runner import choose_plan_runner, needs_fargate
from tidegate.deploys.rules.audit import RUNNING, audit_message, with_audited
from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, held_by_wave
from tidegate.deploys.rules.job import Job, JobKind, job_id
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.planned import ApplyJob
from tidegate.deploys.rules.requirements_gate import waiting, waits
from tidegate.deploys.rules.runner_size import RunnerSize, size_of
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate, RequirementsCheck
from tidegate.deploys.slots.keep_slots import release_slot, take_slot
from tidegate.deploys.stop_runner import stop_runner
from tidegate.deploys.waves import Waves, leave_wave
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.gates.evaluate_gate import is_blocked
from tidegate.messages import BeginJob, ClusterWorkflow, JobBegun
from tidegate.ports import Ports
from tidegate.rules.errors import (
    ApplyAlreadyStarted,
    CloudUnavailable,
    CommitLeftBranch,
    Conflict,
    ForgeUnavailable,
    GateShut,
    NoFreeSlot,
    NotFound,
    RequirementsMissing,
    RunnerNotOffered,
    TidegateError,
    WrongState,
)

#: Attempts to plan in all; the number is the Terraform machine's.
PLAN_ATTEMPTS = 3
#: After these errors the step is retried, or the deployment waits for its slot: it keeps its job and slot.
_TRIED_AGAIN = (Conflict, ForgeUnavailable, CloudUnavailable, NoFreeSlot)


def begin_job(ports: Ports, message: BeginJob) -> JobBegun:
    """Create the job and move the deployment on.

    Raise WrongState, DeploymentCancelled, AuditUnavailable, ApplyAlreadyStarted, CommitLeftBranch, RequirementsMissing,
    GateShut if an apply must wait at its gate again, or NoFreeSlot if it must wait for a runner: no job has begun then.
    Raise Conflict after a concurrent change of the deployment, ForgeUnavailable, and RunnerNotOffered if the root
    requests more than the installation allows.
    """
    try:
        return _begin(ports, message)
    except _TRIED_AGAIN:
        raise
    except GateShut:  # Whoever evaluates the gates gives it a place in its wave from here on.
        release_slot(ports, message.deployment)
        raise
    except TidegateError:
        release_slot(ports, message.deployment)
        _leave_wave(ports, message)
        raise


def _begin(ports: Ports, message: BeginJob) -> JobBegun:
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    kind = JobKind(message.phase)
    try:
        job = _job(ports, deployment, kind, job_id(deployment.id, kind, message.attempt))
    except RunnerNotOffered:
        if kind is JobKind.PLAN:  # It ends as a failed plan.
            ports.deployments.save(_planning(ports, deployment, message.tries))
        raise
    if kind is JobKind.PLAN:
        job = choose_plan_runner(ports, with_known(ports, job))
        _begin_plan(ports, deployment, job, message.tries)
    else:
        job = replace(job, size=_size_of_plan(ports, deployment, job.size))
        _begin_apply(ports, deployment, job)
    return JobBegun.of(job, _workflow(ports, job))


def _workflow(ports: Ports, job: Job) -> ClusterWorkflow | None:
    """Return the workflow that applies the plan of a cluster. Raise ClusterPlanAltered."""
    if job.run.cluster is None or job.plan_file is None:
        return None
    plan = ports.cluster_files.plan(job.plan_file)
    return ClusterWorkflow(machine=machine_name(plan.workflow, plan.cluster.provider), plan=plan.execution_input)


def _begin_plan(ports: Ports, deployment: Deployment, job: Job, tries: int) -> None:
    planning = _planning(ports, deployment, tries, job.note)
    if needs_fargate(job):
        take_slot(ports, deployment.id)
    if tries > 1 and deployment.planned.job != job.id:
        stop_runner(ports, deployment.planned.job)
    ports.jobs.create(job)
    ports.event_publisher.changed(
        ports.deployments.save(replace(planning, planned=replace(planning.planned, job=job.id), slot_since=None))
    )


def _planning(ports: Ports, deployment: Deployment, tries: int, note: str = "") -> Deployment:
    """Return the deployment in state planning. Raise WrongState."""
    at = ports.clock.now()
    reason = "" if tries == 1 else note or _again(tries)
    if deployment.state is State.PLANNING:
        return replace(deployment, reason=reason, changed_at=at)
    if deployment.state is State.QUEUED or _goes_on(deployment, AfterGate.PLAN, AfterGate.PLAN_AGAIN):
        why = deployment.reason if _goes_on(deployment, AfterGate.PLAN_AGAIN) else reason
        return _anew(deployment.moved(State.PLANNING, at, why))
    raise WrongState(deployment.id, deployment.state, "a plan")


def _begin_apply(ports: Ports, deployment: Deployment, job: Job) -> None:
    """Create the job, audit, move on: a runner starts only for a job that this returned.

    So no apply starts without its audit message, and without a job there was no message.
    """
    if deployment.apply.job is not None:
        if deployment.state is not State.APPLYING or deployment.apply.job != job.id:
            raise ApplyAlreadyStarted(deployment.id)
        ports.event_publisher.changed(deployment)
        return
    at = ports.clock.now()
    approved = _fulfilled(ports, _still_there(ports, _passed(ports, deployment, at), at), at)
    _admitted(ports, approved, at)
    deployment = _with_slot(ports, deployment, approved)
    applying = replace(deployment.moved(State.APPLYING, at), apply=ApplyJob(job.id, at))
    ports.jobs.create(job)
    running = audit_message(applying, RUNNING, at)
    ports.audit.publish(running)
    ports.event_publisher.changed(ports.deployments.save(with_audited(applying, running)))


def _with_slot(ports: Ports, known: Deployment, approved: Deployment) -> Deployment:
    """Take a slot for an approved deployment. Raise NoFreeSlot after saving that only the slot is missing."""
    try:
        take_slot(ports, approved.id)
    except NoFreeSlot:
        if approved != known:
            ports.deployments.save(approved)
        raise
    return approved


def _passed(ports: Ports, deployment: Deployment, at: datetime) -> Deployment:
    """Return the approved deployment; a gate that leads here was evaluated a moment ago.

    Raise GateShut, with the deployment back at its gate, if a dependency was run again during the review.
    """
    if _goes_on(deployment, AfterGate.APPLY):
        return replace(deployment.moved(State.APPROVED, at, deployment.reason), gate=None)
    if deployment.state is State.AWAITING_REQUIREMENTS:
        if waits(deployment):
            raise RequirementsMissing(deployment.id)
        deployment = replace(deployment.moved(State.APPROVED, at), gate=None)
    if _goes_on_waiting(deployment):
        raise GateShut(deployment.id)
    if deployment.state is not State.APPROVED:
        raise WrongState(deployment.id, deployment.state, "an apply")
    if deployment.planned.plan is not None and is_blocked(ports, deployment):
        why = "A dependency was re-run after this plan was approved."
        gated = replace(deployment.moved(State.GATED, at, why), gate=Gate(deployment.planned.plan.job, at))
        ports.event_publisher.changed(ports.deployments.save(gated))
        raise GateShut(deployment.id)
    return deployment


def _still_there(ports: Ports, approved: Deployment, at: datetime) -> Deployment:
    """Return the deployment if its commit is on its branch. Raise CommitLeftBranch after deciding its ending."""
    if approved.outcome.ending is not None:  # An earlier decision stays, even if the commit came back.
        raise CommitLeftBranch(approved.outcome.ending.reason)
    left = left_branch(ports, approved)
    if left:
        ending = Ending(State.REJECTED, left, CommitLeftBranch.__name__, "", at)
        ports.deployments.save(replace(approved, outcome=replace(approved.outcome, ending=ending)))
        raise CommitLeftBranch(left)
    return approved


def _fulfilled(ports: Ports, approved: Deployment, at: datetime) -> Deployment:
    """Return the deployment if its requirements are met. Raise RequirementsMissing: it waits then."""
    missing = missing_requirements(ports, approved)
    if missing:
        ports.event_publisher.changed(ports.deployments.save(waiting(approved, missing, at)))
        raise RequirementsMissing(approved.id)
    return replace(approved, requirements=replace(approved.requirements, missing=(), frozen=""))


def _admitted(ports: Ports, approved: Deployment, at: datetime) -> None:
    """Give the deployment a place in its wave. Raise GateShut, with the deployment back at its gate, if it has none."""
    verdict = Waves(ports).admit(approved)
    if verdict.begins or approved.planned.plan is None:
        return
    leave_wave(ports, approved)
    gate = Gate(approved.planned.plan.job, at)
    gated = replace(approved.moved(State.GATED, at, verdict.reason), gate=gate)
    ports.event_publisher.changed(ports.deployments.save(held_by_wave(gated, gate, verdict, at)))
    raise GateShut(approved.id)


def _leave_wave(ports: Ports, message: BeginJob) -> None:
    """Give back the place of an apply that does not begin now. One that began before keeps it."""
    deployment = ports.deployments.get(message.deployment)
    if deployment.state is not State.APPLYING:
        leave_wave(ports, deployment)


def _size_of_plan(ports: Ports, deployment: Deployment, size: RunnerSize) -> RunnerSize:
    """Return the runner's size, or that of the plan's job if it had more memory, which the apply needs as well."""
    try:
        planned = ports.jobs.get(deployment.planned.plan.job).size if deployment.planned.plan else size
    except NotFound:
        return size
    return replace(size, cpu=planned.cpu, memory=planned.memory) if planned.memory > size.memory else size


def _job(ports: Ports, deployment: Deployment, kind: JobKind, job: str) -> Job:
    plan = deployment.planned.plan if kind is JobKind.APPLY else None
    made_by = plan or deployment.request.destroy
    return Job(
        id=job,
        deployment=deployment.id,
        kind=kind,
        repository=deployment.repository,
        sha=deployment.revision.sha,
        clone_url=ports.addresses.clone_url(deployment.repository),
        root=deployment.root,
        plan_file=plan.file if plan else None,
        lock_file=made_by.lock_file if made_by else None,
        engine_version=made_by.engine_version if made_by else None,
        plan_json=plan.json if plan else None,
        stack=deployment.stack,
        run=deployment.settings.run,
        base_sha=deployment.request.base_sha,
        fork_sha=deployment.request.fork_sha,
        destroy=deployment.request.destroy is not None,
        size=size_of(deployment.settings.run.runner, ports.runner_offer),
        ref=f"refs/heads/{deployment.revision.branch}" if deployment.revision.branch else "",
    )


def _again(tries: int) -> str:
    return f"This is attempt {tries} of {PLAN_ATTEMPTS}: the previous one was interrupted."


def _anew(deployment: Deployment) -> Deployment:
    """Return a deployment without the data of its plan, which will not be applied."""
    return replace(
        deployment,
        planned=replace(deployment.planned, plan=None, digest=""),
        policies=replace(deployment.policies, verdicts=()),
        gate=None,
        review=None,
        requirements=RequirementsCheck(frozen=deployment.requirements.frozen),
    )


def _goes_on(deployment: Deployment, *ways: AfterGate) -> bool:
    """Tell whether the deployment's gate decided this next step."""
    return deployment.state is State.GATED and deployment.gate is not None and deployment.gate.next in ways


def _goes_on_waiting(deployment: Deployment) -> bool:
    """Tell whether this is a repeated call for a deployment that returned to the gate before its apply.

    It may have been rejected there, as somebody stopped its stack.
    """
    waits = deployment.gate is not None and deployment.gate.next in {None, AfterGate.REJECTED}
    return waits and deployment.state in WAITING and deployment.planned.plan is not None
