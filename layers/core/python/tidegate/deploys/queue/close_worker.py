"""Close a worker that has waited long enough, if nothing has come meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.rules.queue import has_work, works_here
from tidegate.messages import CloseWorker, WorkerClosed
from tidegate.ports import DeployQueues
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class WorkerCloser:
    """Closes workers. Once closed, a worker stays so; the next deployment gets the next generation."""

    queues: DeployQueues

    def close(self, message: CloseWorker) -> WorkerClosed:
        """Take the worker off its queue if it has no work. Raise Conflict when others keep writing."""
        return deciding_again(lambda: self._close(message))

    def _close(self, message: CloseWorker) -> WorkerClosed:
        head, first = self.queues.read(message.queue)
        if not works_here(head, message.execution):
            return WorkerClosed(closed=True)
        if has_work(head, first):
            return WorkerClosed(closed=False)
        self.queues.commit(head, replace(head, worker=None, token=None))
        return WorkerClosed(closed=True)
