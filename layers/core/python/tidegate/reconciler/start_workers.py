"""Start, or wake, the workers of queues that have something to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.deploys.rules.queue import has_work
from tidegate.ports import DeployQueues
from tidegate.reconciler.turn import Turn

_AT_MOST = 1000


@dataclass(frozen=True, slots=True)
class StartWorkers:
    """Starts workers. ``ensure_worker`` makes sure that an execution works on a queue; again is harmless."""

    queues: DeployQueues
    ensure_worker: Callable[[str], object]

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.queues.unfinished()), self._wake, _AT_MOST)

    def _wake(self, queue: str) -> bool:
        head, first = self.queues.read(queue)
        if not has_work(head, first):
            return False
        self.ensure_worker(queue)
        return True
