"""Give a queue to a fresh execution, long before this one's history is full."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.domain.deploys.queue import next_worker, works_here
from tidegate.messages import HandOverWorker
from tidegate.ports import DeployQueues
from tidegate.usecases.decide_again import deciding_again
from tidegate.usecases.queues.ensure_worker import WorkerEnsurer


@dataclass(frozen=True, slots=True)
class WorkerHandover:
    """Hands queues over. Once more, the same next execution is started."""

    queues: DeployQueues
    workers: WorkerEnsurer

    def hand_over(self, message: HandOverWorker) -> None:
        """Make the next generation the queue's worker and start it. Raise Conflict or CloudUnavailable: try again."""
        deciding_again(lambda: self._commit(message))
        self.workers.ensure(message.queue)

    def _commit(self, message: HandOverWorker) -> None:
        head, _ = self.queues.read(message.queue)
        if works_here(head, message.execution):
            worker = next_worker(head)
            self.queues.commit(head, replace(head, worker=worker, generation=worker.generation, token=None))
