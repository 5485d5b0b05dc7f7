"""Make sure that an execution works on a queue that has work."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

from tidegate.deploys.rules.queue import QueueHead, Waiting, has_work, next_worker
from tidegate.ports import DeployQueues, Workflows
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict, TooLate

#: A queue's head and the first in line, at one moment.
Seen = tuple[QueueHead, Waiting | None]


@dataclass(frozen=True, slots=True)
class WorkerEnsurer:
    """Makes sure of workers. Doing so once more is harmless, and repairs what a death left half done."""

    queues: DeployQueues
    workflows: Workflows

    def ensure(self, queue: str, seen: Seen | None = None) -> None:
        """Start a worker if there is none, start it again if it has not begun, wake it if it waits.

        ``seen`` is the queue as whoever asks has just left it, which saves a read. Raise CloudUnavailable when Step
        Functions refuses for now: then call this again.
        """
        if seen is not None:
            with suppress(Conflict):
                self._ensure(*seen)
                return
        deciding_again(lambda: self._ensure(*self.queues.read(queue)))

    def _ensure(self, head: QueueHead, first: Waiting | None) -> None:
        if not has_work(head, first):
            return
        if head.worker is None:
            worker = next_worker(head)
            after = replace(head, worker=worker, generation=worker.generation, token=None)
            head = self.queues.commit(head, after)
        if head.worker is not None and not head.worker.started:
            self.workflows.start_deploy(head.worker.execution, head.queue)
        elif head.token is not None:
            self._wake(head.token)

    def _wake(self, token: str) -> None:
        """Settle the token. It stays at the head, in case this call is lost.

        When it is too late, the worker is awake, or looks at the queue again before it closes.
        """
        with suppress(TooLate):
            self.workflows.settle(token, {"reason": "There is work in the queue."})
