"""Begin a plan or an apply: take a concurrency slot, create the job that a runner takes, and show that it begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tidegate.deploys.jobs.check_branch import BranchCheck
from tidegate.deploys.jobs.choose_plan_runner import Placed, needs_fargate, on_fargate
from tidegate.deploys.rules.audit import RUNNING, audit_message, with_audited
from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import AfterGate, Deployment, Ending, Gate, State
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.job import Job, JobKind, job_id
from tidegate.deploys.rules.requirements_gate import waiting, waits
from tidegate.deploys.rules.runner_size import RunnerOffer, RunnerSize, size_of
from tidegate.deploys.slots.keep_slots import SlotKeeper
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.judge_gate import GateJudge
from tidegate.messages import BeginJob, JobBegun
from tidegate.ports import Announcements, AuditLog, Clock, Deployments, ForgeAddresses, Jobs
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
#: After these the same is tried again, or the deployment waits for its slot: it keeps what it has.
_TRIED_AGAIN = (Conflict, ForgeUnavailable, CloudUnavailable, NoFreeSlot)


@dataclass(frozen=True, slots=True)
class JobBeginner:
    """Begins jobs. Called again with the same message, it changes nothing more and answers the same.

    A slot is taken last, when all else lets the job begin: who waits at a gate or for people has none, nor has a plan
    on Lambda. Who waited for one is looked at as if it came anew.
    ``stop_runner`` stops whoever has taken a job: a plan is tried again because its runner was given up. ``offer`` is
    what runners the installation has. ``place``
    chooses where a plan runs.
    """

    deployments: Deployments
    jobs: Jobs
    addresses: ForgeAddresses
    audit: AuditLog
    announcements: Announcements
    clock: Clock
    gates: GateJudge
    stop_runner: Callable[[str | None], object]
    requirements: ApplyRequirements
    branches: BranchCheck
    slots: SlotKeeper
    offer: RunnerOffer = field(default_factory=RunnerOffer)
    place: Placed = on_fargate

    def begin(self, message: BeginJob) -> JobBegun:
        """Create the job and move the deployment on.

        Raise WrongState, DeploymentCancelled, AuditUnavailable, ApplyAlreadyStarted, CommitLeftBranch,
        RequirementsMissing, GateShut if an apply must wait at its gate once more, or NoFreeSlot if it must wait for a
        runner: then no job was begun. Raise Conflict when somebody else changed the deployment meanwhile,
        ForgeUnavailable, and RunnerNotOffered when the root asks for more than the installation allows.
        """
        try:
            return self._begin(message)
        except _TRIED_AGAIN:
            raise
        except TidegateError:
            self.slots.give_back(message.deployment)
            raise

    def _begin(self, message: BeginJob) -> JobBegun:
        deployment = not_cancelled(self.deployments.get(message.deployment))
        kind = JobKind(message.phase)
        try:
            job = self._job(deployment, kind, job_id(deployment.id, kind, message.attempt))
        except RunnerNotOffered:
            if kind is JobKind.PLAN:  # It ends as a plan that failed.
                self.deployments.save(self._planning(deployment, message.tries))
            raise
        if kind is JobKind.PLAN:
            job = self.place(job)
            self._begin_plan(deployment, job, message.tries)
        else:
            job = replace(job, size=self._size_of_plan(deployment, job.size))
            self._begin_apply(deployment, job)
        return JobBegun.of(job)

    def _begin_plan(self, deployment: Deployment, job: Job, tries: int) -> None:
        planning = self._planning(deployment, tries, job.note)
        if needs_fargate(job):
            self.slots.take(deployment.id)
        if tries > 1 and deployment.plan_job != job.id:
            self.stop_runner(deployment.plan_job)
        self.jobs.create(job)
        self.announcements.changed(self.deployments.save(replace(planning, plan_job=job.id, slot_since="")))

    def _planning(self, deployment: Deployment, tries: int, note: str = "") -> Deployment:
        """Return the deployment as it plans. Raise WrongState."""
        at = self.clock.now()
        reason = "" if tries == 1 else note or _again(tries)
        if deployment.state is State.PLANNING:
            return replace(deployment, reason=reason, changed_at=at)
        if deployment.state is State.QUEUED or _goes_on(deployment, AfterGate.PLAN, AfterGate.PLAN_AGAIN):
            why = deployment.reason if _goes_on(deployment, AfterGate.PLAN_AGAIN) else reason
            return _anew(deployment.moved(State.PLANNING, at, why))
        raise WrongState(deployment.id, deployment.state, "a plan")

    def _begin_apply(self, deployment: Deployment, job: Job) -> None:
        """Create the job, audit, move on: no runner is started for a job that this did not answer.

        So no apply starts without its audit message, and where there is no job, there was no message.
        """
        if deployment.apply_job is not None:
            if deployment.state is not State.APPLYING or deployment.apply_job != job.id:
                raise ApplyAlreadyStarted(deployment.id)
            self.announcements.changed(deployment)
            return
        at = self.clock.now()
        approved = self._fulfilled(self._still_there(self._passed(deployment, at), at), at)
        deployment = self._with_slot(deployment, approved)
        applying = replace(deployment.moved(State.APPLYING, at), apply_job=job.id, apply_started_at=at)
        self.jobs.create(job)
        running = audit_message(applying, RUNNING, at)
        self.audit.publish(running)
        self.announcements.changed(self.deployments.save(with_audited(applying, running)))

    def _with_slot(self, known: Deployment, approved: Deployment) -> Deployment:
        """Take a slot for an approved deployment. Raise NoFreeSlot, once it is saved as one that nothing else holds."""
        try:
            self.slots.take(approved.id)
        except NoFreeSlot:
            if approved != known:
                self.deployments.save(approved)
            raise
        return approved

    def _passed(self, deployment: Deployment, at: str) -> Deployment:
        """Return the approved deployment; a gate that leads here was looked at a moment ago.

        Raise GateShut, with the deployment back at its gate, when what it waited for was run again while it was
        reviewed.
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
        if deployment.plan is not None and self.gates.is_shut(deployment):
            why = "What goes before this was run again since its plan was confirmed."
            gated = replace(deployment.moved(State.GATED, at, why), gate=Gate(deployment.plan.job, at))
            self.announcements.changed(self.deployments.save(gated))
            raise GateShut(deployment.id)
        return deployment

    def _still_there(self, approved: Deployment, at: str) -> Deployment:
        """Return the deployment if its commit is on its branch. Raise CommitLeftBranch: how it ends is decided then."""
        if approved.ending is not None:  # That was decided before, whatever came back since.
            raise CommitLeftBranch(approved.ending.reason)
        left = self.branches.left(approved)
        if left:
            ending = Ending(State.REJECTED, left, CommitLeftBranch.__name__, "", at)
            self.deployments.save(replace(approved, ending=ending))
            raise CommitLeftBranch(left)
        return approved

    def _fulfilled(self, approved: Deployment, at: str) -> Deployment:
        """Return the deployment if all is there that its root requires. Raise RequirementsMissing: it waits then."""
        missing = self.requirements.missing(approved)
        if missing:
            self.announcements.changed(self.deployments.save(waiting(approved, missing, at)))
            raise RequirementsMissing(approved.id)
        return replace(approved, missing=(), frozen="")

    def _size_of_plan(self, deployment: Deployment, size: RunnerSize) -> RunnerSize:
        """Return the runner's size, or that of the plan's job if it had more memory: the apply needs that as well."""
        try:
            planned = self.jobs.get(deployment.plan.job).size if deployment.plan else size
        except NotFound:
            return size
        return replace(size, cpu=planned.cpu, memory=planned.memory) if planned.memory > size.memory else size

    def _job(self, deployment: Deployment, kind: JobKind, job: str) -> Job:
        plan = deployment.plan if kind is JobKind.APPLY else None
        made_by = plan or deployment.destroy
        return Job(
            id=job,
            deployment=deployment.id,
            kind=kind,
            repository=deployment.repository,
            sha=deployment.revision.sha,
            clone_url=self.addresses.clone_url(deployment.repository),
            root=deployment.root,
            installation=deployment.installation,
            plan_file=plan.file if plan else None,
            lock_file=made_by.lock_file if made_by else None,
            engine_version=made_by.engine_version if made_by else None,
            plan_json=plan.json if plan else None,
            stack=deployment.stack,
            run=deployment.run,
            base_sha=deployment.base_sha,
            fork_sha=deployment.fork_sha,
            destroy=deployment.destroy is not None,
            size=size_of(deployment.run.runner, self.offer),
            ref=f"refs/heads/{deployment.revision.branch}" if deployment.revision.branch else "",
        )


def _again(tries: int) -> str:
    return f"This is attempt {tries} of {PLAN_ATTEMPTS}: the one before was interrupted."


def _anew(deployment: Deployment) -> Deployment:
    """Return a deployment without what was said of its plan: that is not what will be applied."""
    unsaid = replace(deployment, verdicts=(), plan_digest="", approved_here=(), override=None, missing=())
    return replace(unsaid, gate=None, plan=None, review=None)


def _goes_on(deployment: Deployment, *ways: AfterGate) -> bool:
    """Tell whether the deployment's gate is open, and this is what follows."""
    return deployment.state is State.GATED and deployment.gate is not None and deployment.gate.next in ways


def _goes_on_waiting(deployment: Deployment) -> bool:
    """Tell whether the deployment was sent back to the gate before its apply, and this comes again."""
    waits = deployment.gate is not None and deployment.gate.next is None
    return waits and deployment.state in WAITING and deployment.plan is not None
