"""Take the lock that a deployment put on its queue off again, and let the queue go on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.deployment import Unlocking
from tidegate.domain.queue import locks_queue
from tidegate.ports import Announcements, Deployments, DeployQueues
from tidegate.usecases.decide_again import deciding_again
from tidegate.usecases.ensure_worker import WorkerEnsurer


@dataclass(frozen=True, slots=True)
class QueueUnlocker:
    """Unlocks queues. The same unlocking again repairs what a death left half done, and nothing more."""

    queues: DeployQueues
    deployments: Deployments
    announcements: Announcements
    workers: WorkerEnsurer

    def unlock(self, deployment: str, unlocking: Unlocking) -> bool:
        """Take the lock of ``deployment`` away, and remember at it who did so and when.

        Return False, and change nothing, when it does not lock its queue and this unlocking did not take
        its lock away before. Raise NotFound, or Conflict or CloudUnavailable: call it again then.
        """
        queue = deciding_again(lambda: self._unlock(deployment, unlocking))
        if queue is None:
            return False
        for waiting in self.queues.waiting(queue):
            self.announcements.refresh(waiting.deployment)
        self.workers.ensure(queue)
        self.announcements.refresh(deployment)
        return True

    def _unlock(self, identifier: str, unlocking: Unlocking) -> str | None:
        """Return the queue when this unlocking has taken its lock away, now or before."""
        deployment = self.deployments.get(identifier)
        head, _ = self.queues.read(deployment.queue)
        if locks_queue(deployment, head):
            unlocked = replace(deployment, unlocked=unlocking)
            self.queues.commit(head, replace(head, lock=None), deployment=unlocked)
            return head.queue
        return head.queue if deployment.unlocked == unlocking else None
