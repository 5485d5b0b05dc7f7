"""Give a queue to a fresh execution, long before this one's history is full or its year is over."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.rules.queue import has_work, next_worker, works_here
from tidegate.messages import HandOverWorker
from tidegate.ports import DeployQueues
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class WorkerHandover:
    """Hands queues over. Once more, the same next execution is started."""

    queues: DeployQueues
    workers: WorkerEnsurer

    def hand_over(self, message: HandOverWorker) -> None:
        """Make the next generation the queue's worker and start it, or release a queue without work.

        Raise Conflict or CloudUnavailable: try again.
        """
        deciding_again(lambda: self._commit(message))
        self.workers.ensure(message.queue)

    def _commit(self, message: HandOverWorker) -> None:
        head, first = self.queues.read(message.queue)
        if not works_here(head, message.execution):
            return
        if has_work(head, first):
            worker = next_worker(head)
            self.queues.commit(head, replace(head, worker=worker, generation=worker.generation, token=None))
        else:
            self.queues.commit(head, replace(head, worker=None, token=None))
