"""A scenario in memory in which things can be broken, and one repair's turn in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.queue import Worker
from tidegate.reconciler.reconciler_pass import ReconcilerPass


class BrokenScenario:
    """Every port is an attribute: ``scenario.deployments`` …"""

    def __init__(self, **given):
        self.ports = memory_ports(**given)
        self.failures = []

    def __getattr__(self, port):
        return getattr(self.ports, port)

    def take_turn(self, repair, seconds=60):
        """Let a repair have its turn, and return its count; what failed is in ``failures``."""
        turn = ReconcilerPass(self.clock, self.clock.now() + timedelta(seconds=seconds))
        count = repair(self.ports, turn)
        self.failures = turn.failures
        return count

    def put(self, deployment):
        assert self.deployments.add(deployment)
        return deployment

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

    def worker(self, queue):
        """Return the execution that is the queue's worker, or None."""
        head, _ = self.queues.read(queue)
        return head.worker and head.worker.execution

    def lock(self, queue, lock):
        head, _ = self.queues.read(queue)
        self.queues.commit(head, replace(head, lock=lock))

    @property
    def started(self):
        """The queues for which executions were started."""
        return [queue for _, queue in self.workflows.starts]
