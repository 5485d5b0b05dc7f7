"""Put a deployment in its queue, and see to it that somebody works there."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.deployment import Deployment
from tidegate.ports import Announcements, Deployments, DeployQueues
from tidegate.usecases.decide_again import deciding_again
from tidegate.usecases.ensure_worker import WorkerEnsurer


@dataclass(frozen=True, slots=True)
class Enqueuer:
    """Enqueues deployments."""

    queues: DeployQueues
    deployments: Deployments
    announcements: Announcements
    workers: WorkerEnsurer

    def enqueue(self, deployment: Deployment) -> bool:
        """Enqueue ``deployment``; return False when one with its id was enqueued before.

        Then it is announced and a worker is made sure of all the same: whoever enqueued it may have died
        before doing so. Raise CloudUnavailable when the worker could not be started: do it all again.
        """
        is_new = deciding_again(lambda: self.queues.enqueue(deployment))
        self.announcements.changed(deployment if is_new else self.deployments.get(deployment.id))
        self.workers.ensure(deployment.queue)
        return is_new
