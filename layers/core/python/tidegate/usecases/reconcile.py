"""Repair what events missed: deliveries that were stored and never queued, queues that nobody works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.domain.errors import TidegateError
from tidegate.domain.queue import has_work
from tidegate.ports import Clock, Deliveries, DeployQueues, EventQueue

#: Seconds after which a delivery that is not queued counts as forgotten: a webhook takes less than ten.
FORGOTTEN_AFTER = 60


@dataclass(frozen=True, slots=True)
class Repairs:
    """What was repaired: deliveries sent again, and queues whose worker was made sure of."""

    deliveries: int
    queues: int


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Reconciles. ``ensure_worker`` makes sure that an execution works on a queue; doing so again is harmless."""

    deliveries: Deliveries
    events: EventQueue
    queues: DeployQueues
    clock: Clock
    ensure_worker: Callable[[str], object]

    def reconcile(self) -> Repairs:
        """Repair everything that is found. Doing it twice is harmless: whatever is sent again is idempotent.

        What cannot be repaired keeps nothing else from it, and is raised in the end.
        """
        try:
            woken = self._wake_queues()
        finally:
            sent = self._send_forgotten()
        return Repairs(sent, woken)

    def _send_forgotten(self) -> int:
        before = datetime.fromisoformat(self.clock.now()) - timedelta(seconds=FORGOTTEN_AFTER)
        sent = 0
        for delivery in self.deliveries.unqueued(before.isoformat(timespec="microseconds")):
            self.events.send(delivery)
            self.deliveries.mark_queued(delivery.id)
            sent += 1
        return sent

    def _wake_queues(self) -> int:
        woken, failure = 0, None
        for queue in self.queues.unfinished():
            try:
                woken += self._wake(queue)
            except TidegateError as error:
                failure = error
        if failure is not None:
            raise failure
        return woken

    def _wake(self, queue: str) -> int:
        head, first = self.queues.read(queue)
        if not has_work(head, first):
            return 0
        self.ensure_worker(queue)
        return 1
