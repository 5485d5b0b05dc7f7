"""Repair what events missed: deliveries that were stored and never queued, queues that nobody works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.domain.errors import NotFound, TidegateError
from tidegate.domain.queue import Worker, has_work
from tidegate.ports import Clock, Deliveries, DeployQueues, EventQueue, Workflows
from tidegate.usecases.execution_closed import ClosedExecution

#: Seconds after which a delivery that is not queued counts as forgotten: a webhook takes less than ten.
FORGOTTEN_AFTER = 60
#: Workers that one run looks after. Step Functions describes some ten executions a second for a whole
#: account; with more unfinished queues than this, it takes more runs until each had its turn.
WATCHED = 100
#: Seconds of one turn: the time from one run to the next.
_TURN = 300
#: How a started execution ended that Step Functions has forgotten.
_FORGOTTEN = "FORGOTTEN"


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was repaired: deliveries sent again, queues taken from dead workers, and queues sure of a worker."""

    deliveries: int
    queues: int
    released: int = 0


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Reconciles.

    ``release`` takes a queue from an execution that ended; ``ensure_worker`` makes sure that an execution
    works on a queue. Doing either again is harmless.
    """

    deliveries: Deliveries
    events: EventQueue
    queues: DeployQueues
    clock: Clock
    workflows: Workflows
    release: Callable[[ClosedExecution], object]
    ensure_worker: Callable[[str], object]

    def reconcile(self) -> Repairs:
        """Repair everything that is found. Doing it twice is harmless: whatever is sent again is idempotent.

        What cannot be repaired keeps nothing else from it, and is raised in the end.
        """
        unfinished = sorted(self.queues.unfinished())
        try:
            released = sum(_each(self._release, self._in_turn(unfinished)))
        finally:
            try:
                woken = sum(_each(self._wake, unfinished))
            finally:
                sent = self._send_forgotten()
        return Repairs(sent, woken, released)

    def _send_forgotten(self) -> int:
        before = datetime.fromisoformat(self.clock.now()) - timedelta(seconds=FORGOTTEN_AFTER)
        sent = 0
        for delivery in self.deliveries.unqueued(before.isoformat(timespec="microseconds")):
            self.events.send(delivery)
            self.deliveries.mark_queued(delivery.id)
            sent += 1
        return sent

    def _in_turn(self, queues: Sequence[str]) -> Sequence[str]:
        """Return the queues whose workers this run looks after: others each time, when there are too many."""
        if len(queues) <= WATCHED:
            return queues
        turn = int(datetime.fromisoformat(self.clock.now()).timestamp()) // _TURN
        first = turn * WATCHED % len(queues)
        return [*queues[first:], *queues[:first]][:WATCHED]

    def _release(self, queue: str) -> bool:
        """Take the queue from its worker if that has ended and the event that says so was lost."""
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

    def _wake(self, queue: str) -> bool:
        head, first = self.queues.read(queue)
        if not has_work(head, first):
            return False
        self.ensure_worker(queue)
        return True


def _each(repair: Callable[[str], bool], queues: Sequence[str]) -> Iterator[bool]:
    """Yield what each repair says. Raise the last refusal in the end."""
    failure = None
    for queue in queues:
        try:
            yield repair(queue)
        except TidegateError as error:
            failure = error
    if failure is not None:
        raise failure
