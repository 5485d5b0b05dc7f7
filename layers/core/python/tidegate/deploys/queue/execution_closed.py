"""Release a queue whose deploy execution failed, was aborted or timed out."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.rules.deployment import State
from tidegate.deploys.rules.queue import QueueHead, waiting_for, works_here
from tidegate.ports import Announcements, Deployments, DeployQueues
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class ClosedExecution:
    """A deploy execution that ended otherwise than by itself; ``status`` is Step Functions' word for it."""

    queue: str
    execution: str
    status: str


@dataclass(frozen=True, slots=True)
class QueueReleaser:
    """Releases queues. Told once more, it announces what it did and makes sure of a worker again.

    ``leave_slots`` gives back the concurrency slots of deployments of which no job begins any more.
    """

    queues: DeployQueues
    deployments: Deployments
    announcements: Announcements
    ender: DeploymentEnder
    workers: WorkerEnsurer
    leave_slots: Callable[[Collection[str]], object]

    def release(self, closed: ClosedExecution) -> None:
        """End or put back the deployment in flight, and start a new worker if there is work.

        After a failure of Tidegate's own the new worker is left to the reconciler, so that a lasting
        fault repeats every few minutes and not every second. Raise Conflict or CloudUnavailable: try again.
        """
        deciding_again(lambda: self._release(closed))
        if closed.status != "FAILED":
            self.workers.ensure(closed.queue)

    def _release(self, closed: ClosedExecution) -> None:
        head, _ = self.queues.read(closed.queue)
        if not works_here(head, closed.execution):
            self._announce_again(head)
            return
        head = replace(head, token=None)
        if head.in_flight is None:
            self.queues.commit(head, replace(head, worker=None))
        else:
            self._release_deployment(head, head.in_flight, f"execution {closed.status}")

    def _release_deployment(self, head: QueueHead, in_flight: str, error: str) -> None:
        """Put a deployment that has not begun back in line; end any other."""
        deployment = self.deployments.get(in_flight)
        self.leave_slots([in_flight])  # Its execution has ended; whoever claims it next comes after this.
        if deployment.state is State.QUEUED:
            after = replace(head, worker=None, in_flight=None, last=in_flight)
            self.queues.commit(head, after, put_back=waiting_for(deployment))
            self.announcements.changed(deployment)
            self.announcements.line_changed(head.queue)
        else:
            self.ender.end(head, deployment, error, worker=None)

    def _announce_again(self, head: QueueHead) -> None:
        """Announce what left the queue last: the call that released it may have died before it did."""
        if head.last is not None:
            self.ender.announce(self.deployments.get(head.last), head)
            self.announcements.refresh(head.last)
