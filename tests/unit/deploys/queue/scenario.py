"""A queue's use cases on stores in memory."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, amended, any_deployment, any_job, any_lock, any_queue, any_revision, deployment_in
from tests.fakes import MemoryEventPublisher
from tests.fakes.ports import memory_ports
from tests.instants import utc
from tidegate.deploys.queue.claim_deployment import claim_deployment
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.queue.validate_revision import validate_revision
from tidegate.deploys.queue.wait_for_signal import wait_for_signal
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.messages import ClaimDeployment, RecordOutcome, ValidateRevision, WaitForSignal
from tidegate.rules.errors import CloudUnavailable

QUEUE = any_queue()
LATER = utc("2026-03-02T12:00")
TOKEN = "token"


class Scenario:
    """Every port is an attribute: ``scenario.deployments`` …"""

    def __init__(self, **given):
        self.ports = memory_ports(**given)

    def __getattr__(self, port):
        return getattr(self.ports, port)

    def enqueue(self, deployment, seen=None):
        return enqueue(self.ports, deployment, seen)

    def lock_by(self, deployment) -> None:
        """Lock the queue, as a deployment does."""
        self.deployments.add(deployment)
        self.change(lock=any_lock(revision=deployment.revision.sha, deployment=deployment.id))

    def unlock(self, by="reviewer", at=NOW):
        return unlock_queue(self.ports, QUEUE, Unlocking(by, at))

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
        return claim_deployment(self.ports, message)

    def in_flight(self, deployment):
        """Bring a deployment in flight in any state, and return its worker's execution."""
        self.enqueue(replace(deployment, state=State.QUEUED))
        self.claim()
        self.deployments.save(
            amended(self.deployments.get(deployment.id), state=deployment.state, plan=deployment.planned.plan)
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
        wait_for_signal(self.ports, message)
        return message

    def validate(self, deployment):
        return validate_revision(self.ports, ValidateRevision(queue=QUEUE, deployment=deployment.id))

    def record(self, deployment, error=None):
        return record_outcome(self.ports, RecordOutcome(queue=QUEUE, deployment=deployment.id, error=error)).state


class FailingEventPublisher(MemoryEventPublisher):
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


def applying(scenario, *, taken):
    """Bring a deployment in flight whose apply has begun."""
    job = any_job(JobKind.APPLY)
    execution = scenario.in_flight(deployment_in(State.APPLYING))
    scenario.deployments.save(amended(scenario.deployments.get(any_deployment().id), apply_job=job.id))
    scenario.jobs.create(job)
    scenario.jobs.hand_over(job.id, "token", "clone")
    if taken:
        scenario.jobs.take(job.id, "runner")
    return execution


def manual(state=State.QUEUED, number=1, **fields):
    return deployment_in(state, number, trigger=Trigger.MANUAL, **fields)


def related(scenario, first, second, how):
    """Say how two commits (their numbers), or a commit and a branch, relate."""
    names = [any_revision(each).sha if isinstance(each, int) else each for each in (first, second)]
    scenario.forge.comparisons[names[0], names[1]] = how
