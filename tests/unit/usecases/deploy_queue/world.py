"""A queue's use cases on stores in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.builders import NOW, any_deployment, any_job, any_lock, any_queue, any_revision, deployment_in
from tests.fakes import (
    MemoryAnnouncements,
    MemoryAuditLog,
    MemoryCatalog,
    MemoryChangeSets,
    MemoryClock,
    MemoryDeployments,
    MemoryDeployQueues,
    MemoryForge,
    MemoryJobs,
    MemoryWorkflows,
)
from tests.slots import keeper
from tidegate.deploys.jobs.find_undone import UndoneBefore
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.queue.claim_deployment import DeploymentClaimer
from tidegate.deploys.queue.close_worker import WorkerCloser
from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.deploys.queue.enqueue import Enqueuer
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.queue.execution_closed import QueueReleaser
from tidegate.deploys.queue.find_former_root import FormerRoots
from tidegate.deploys.queue.hand_over_worker import WorkerHandover
from tidegate.deploys.queue.record_outcome import OutcomeRecorder
from tidegate.deploys.queue.validate_revision import RevisionValidator
from tidegate.deploys.queue.wait_for_signal import SignalWaiter
from tidegate.deploys.rules.deployment import State, Trigger, Unlocking
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.queue import QueueHead
from tidegate.messages import ClaimDeployment, RecordOutcome, ValidateRevision, WaitForSignal
from tidegate.requests.unlock import QueueUnlocker
from tidegate.rules.errors import CloudUnavailable

QUEUE = any_queue()
LATER = "2026-03-02T12:00:00.000000+00:00"
TOKEN = "token"


@dataclass
class World:
    deployments: MemoryDeployments = field(default_factory=MemoryDeployments)
    jobs: MemoryJobs = field(default_factory=MemoryJobs)
    workflows: MemoryWorkflows = field(default_factory=MemoryWorkflows)
    announcements: MemoryAnnouncements = field(default_factory=MemoryAnnouncements)
    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    forge: MemoryForge = field(default_factory=MemoryForge)
    change_sets: MemoryChangeSets = field(default_factory=MemoryChangeSets)

    def __post_init__(self):
        self.queues = MemoryDeployQueues(self.deployments)
        clock = MemoryClock()
        workers = self.workers = WorkerEnsurer(self.queues, self.workflows)
        finisher = Finisher(self.deployments, self.jobs, self.audit)
        ender = DeploymentEnder(self.queues, self.jobs, finisher, self.announcements, clock)
        self.enqueuer = Enqueuer(self.queues, self.deployments, self.audit, self.announcements, workers)
        self.claimer = DeploymentClaimer(self.queues, self.announcements, clock)
        formers = FormerRoots(MemoryCatalog(self.deployments, self.queues), self.deployments)
        undone = UndoneBefore(self.deployments, self.change_sets)
        self.validator = RevisionValidator(self.queues, self.forge, self.announcements, clock, formers, undone)
        self.slots = keeper(self.deployments)
        self.recorder = OutcomeRecorder(self.queues, ender, self.slots.give_back)
        self.waiter = SignalWaiter(self.queues, self.workflows)
        self.closer = WorkerCloser(self.queues)
        self.handover = WorkerHandover(self.queues, workers)
        self.releaser = QueueReleaser(
            self.queues, self.deployments, self.announcements, ender, workers, self.slots.leave
        )
        self.unlocker = QueueUnlocker(self.queues, self.deployments, self.audit, self.announcements, workers)

    def lock_by(self, deployment) -> None:
        """Lock the queue, as a deployment does."""
        self.deployments.add(deployment)
        self.change(lock=any_lock(revision=deployment.revision.sha, deployment=deployment.id))

    def unlock(self, by="reviewer", at=NOW):
        return self.unlocker.unlock(QUEUE, Unlocking(by, at))

    @property
    def head(self) -> QueueHead:
        return self.queues.read(QUEUE)[0]

    @property
    def line(self) -> list[str]:
        return [waiting.deployment for waiting in self.queues.waiting(QUEUE)]

    def change(self, **fields):
        return self.queues.commit(self.head, replace(self.head, **fields))

    def claim(self, rounds=0, execution=None, started=NOW):
        worker = self.head.worker.execution if self.head.worker else ""
        message = ClaimDeployment(queue=QUEUE, execution=execution or worker, rounds=rounds, started=started)
        return self.claimer.claim(message)

    def in_flight(self, deployment):
        """Bring a deployment in flight in any state, and return its worker's execution."""
        self.enqueuer.enqueue(replace(deployment, state=State.QUEUED))
        self.claim()
        self.deployments.save(
            replace(self.deployments.get(deployment.id), state=deployment.state, plan=deployment.plan)
        )
        return self.head.worker.execution

    def waits(self, token=TOKEN):
        """Let the worker wait for a signal."""
        claimed = self.claim()
        assert claimed.step == "wait"
        self.workflows.waiting.add(token)
        return self.wait(claimed.version, token)

    def wait(self, version, token=TOKEN, execution=None):
        execution = execution or self.head.worker.execution
        message = WaitForSignal(queue=QUEUE, execution=execution, version=version, token=token)
        self.waiter.wait(message)
        return message

    def validate(self, deployment):
        return self.validator.validate(ValidateRevision(queue=QUEUE, deployment=deployment.id))

    def record(self, deployment, error=None):
        return self.recorder.record(RecordOutcome(queue=QUEUE, deployment=deployment.id, error=error)).state


class FailingAnnouncements(MemoryAnnouncements):
    """Announcements whose next calls fail, as many as ``refusals`` says."""

    refusals = 0

    def changed(self, deployment):
        self._refuse()
        super().changed(deployment)

    def refresh(self, deployment):
        self._refuse()
        super().refresh(deployment)

    def _refuse(self):
        if self.refusals:
            self.refusals -= 1
            raise CloudUnavailable("SQS", "RequestThrottled")


def applying(world, *, taken):
    """Bring a deployment in flight whose apply has begun."""
    job = any_job(JobKind.APPLY)
    execution = world.in_flight(deployment_in(State.APPLYING))
    world.deployments.save(replace(world.deployments.get(any_deployment().id), apply_job=job.id))
    world.jobs.create(job)
    world.jobs.hand_over(job.id, "token", "clone")
    if taken:
        world.jobs.take(job.id, "runner")
    return execution


def manual(state=State.QUEUED, number=1, **fields):
    return deployment_in(state, number, trigger=Trigger.MANUAL, **fields)


def related(world, first, second, how):
    """Say how two commits (their numbers), or a commit and a branch, relate."""
    names = [any_revision(each).sha if isinstance(each, int) else each for each in (first, second)]
    world.forge.comparisons[names[0], names[1]] = how
