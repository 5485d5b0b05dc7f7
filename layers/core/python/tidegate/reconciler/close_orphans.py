"""Bring deployments back to their queue, or end them, that have not ended and that no queue knows of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidegate.deploys.rules.deployment import Deployment, State, is_final
from tidegate.deploys.rules.queue import QueueHead, waiting_for
from tidegate.ports import Announcements, Deployments, DeployQueues
from tidegate.reconciler.turn import Turn
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

_AT_MOST = 500
#: What the record of a deployment says that was ended here.
ORPHANED = "Orphaned"


@dataclass(frozen=True, slots=True)
class CloseOrphans:
    """Closes orphans.

    ``end`` ends a deployment that its queue, whose head it is given, does not know; ``ensure_worker`` makes sure
    that an execution works on a queue.
    """

    queues: DeployQueues
    deployments: Deployments
    announcements: Announcements
    end: Callable[[QueueHead, Deployment, str], object]
    ensure_worker: Callable[[str], object]

    def repair(self, turn: Turn) -> int:
        return turn.each(sorted(self.deployments.unshown()), self._close, _AT_MOST)

    def _close(self, deployment_id: str) -> bool:
        try:
            deployment = self.deployments.get(deployment_id)
        except NotFound:
            return False
        return not is_final(deployment.state) and deciding_again(lambda: self._adopt(deployment.id, deployment.queue))

    def _adopt(self, deployment_id: str, queue: str) -> bool:
        """Look at the queue first and at the record then: whatever leaves its queue has ended before."""
        head, _ = self.queues.read(queue)
        if head.in_flight == deployment_id:
            return False
        if deployment_id in {waiting.deployment for waiting in self.queues.waiting(queue)}:
            return False
        deployment = self.deployments.get(deployment_id)
        if is_final(deployment.state):
            return False
        if deployment.state is State.QUEUED:
            self.queues.commit(head, head, put_back=waiting_for(deployment))
            self.announcements.changed(deployment)
            self.ensure_worker(queue)
        else:
            self.end(head, deployment, ORPHANED)
        return True
