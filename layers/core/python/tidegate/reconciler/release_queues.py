"""Take queues from executions that ended while nobody heard of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.deploys.queue.execution_closed import ClosedExecution
from tidegate.deploys.rules.queue import Worker
from tidegate.ports import DeployQueues, Workflows
from tidegate.reconciler.turn import Turn
from tidegate.rules.errors import NotFound

#: Workers that one run looks after: Step Functions describes some ten executions a second for a whole account.
WATCHED = 100
#: How a started execution ended that Step Functions has forgotten.
_FORGOTTEN = "FORGOTTEN"


@dataclass(frozen=True, slots=True)
class ReleaseQueues:
    """Releases queues. ``release`` takes a queue from an execution that ended; doing so again is harmless."""

    queues: DeployQueues
    workflows: Workflows
    release: Callable[[ClosedExecution], object]

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.queues.unfinished()), self._release, WATCHED)

    def _release(self, queue: str) -> bool:
        head, _ = self.queues.read(queue)
        status = self._ending(head.worker) if head.worker else None
        if head.worker is None or status is None:
            return False
        self.release(ClosedExecution(queue, head.worker.execution, status))
        return True

    def _ending(self, worker: Worker) -> str | None:
        try:
            return self.workflows.ending(worker.execution)
        except NotFound:
            return _FORGOTTEN if worker.started else None
