"""Repair what events missed: deliveries that were stored and never queued, queues that nobody works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

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
        """Repair everything that is found. Doing it twice is harmless: whatever is sent again is idempotent."""
        return Repairs(self._send_forgotten(), self._wake_queues())

    def _send_forgotten(self) -> int:
        before = datetime.fromisoformat(self.clock.now()) - timedelta(seconds=FORGOTTEN_AFTER)
        sent = 0
        for delivery in self.deliveries.unqueued(before.isoformat(timespec="microseconds")):
            self.events.send(delivery)
            self.deliveries.mark_queued(delivery.id)
            sent += 1
        return sent

    def _wake_queues(self) -> int:
        woken = 0
        for queue in self.queues.unfinished():
            head, first = self.queues.read(queue)
            if has_work(head, first):
                self.ensure_worker(queue)
                woken += 1
        return woken
