"""Take the lock off a queue and let it go on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.ports import Announcements, DeployQueues
from tidegate.usecases.decide_again import deciding_again
from tidegate.usecases.ensure_worker import WorkerEnsurer


@dataclass(frozen=True, slots=True)
class QueueUnlocker:
    """Unlocks queues. A queue that is not locked stays as it is, and a worker is made sure of."""

    queues: DeployQueues
    announcements: Announcements
    workers: WorkerEnsurer

    def unlock(self, queue: str) -> bool:
        """Unlock ``queue``; return whether it was locked. Raise CloudUnavailable: call it again then."""
        was_locked = deciding_again(lambda: self._unlock(queue))
        for waiting in self.queues.waiting(queue):
            self.announcements.refresh(waiting.deployment)
        self.workers.ensure(queue)
        return was_locked

    def _unlock(self, queue: str) -> bool:
        head, _ = self.queues.read(queue)
        if head.lock is None:
            return False
        self.queues.commit(head, replace(head, lock=None))
        return True
