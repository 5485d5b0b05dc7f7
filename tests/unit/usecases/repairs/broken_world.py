"""A world in memory in which things can be broken, and one repair's turn in it."""

from __future__ import annotations

from dataclasses import replace

from tests.fakes import MemoryCatalog, MemoryDeliveries, MemoryEventQueue, MemoryForgeDeliveries
from tests.fakes.redeliveries import MemoryRedeliveries
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.rules.queue import Worker
from tidegate.reconciler.turn import Turn


class BrokenWorld(World):
    def __post_init__(self):
        super().__post_init__()
        self.deliveries, self.events, self.lost = MemoryDeliveries(), MemoryEventQueue(), MemoryForgeDeliveries()
        self.redeliveries = MemoryRedeliveries()
        self.catalog = MemoryCatalog(self.deployments, self.queues)
        self.woken, self.released, self.ended = [], [], []
        self.failures = []

    def take_turn(self, repair, seconds=60):
        """Let a repair have its turn, and return its count; what failed is in ``failures``."""
        turn = Turn(self.clock, "")
        turn.until = turn.ago(-seconds)
        count = repair.repair(turn)
        self.failures = turn.failures
        return count

    def enqueue(self, deployment):
        assert self.queues.enqueue(deployment)
        return deployment.queue

    def claim(self, deployment):
        """Enqueue a deployment and let it be in flight."""
        queue = self.enqueue(deployment)
        head, first = self.queues.read(queue)
        self.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
        return queue

    def work_on(self, queue, execution, *, started=True):
        """Let an execution be the queue's worker."""
        head, _ = self.queues.read(queue)
        self.queues.commit(head, replace(head, worker=Worker(execution, 1, started)))

    def lock(self, queue, lock):
        head, _ = self.queues.read(queue)
        self.queues.commit(head, replace(head, lock=lock))
