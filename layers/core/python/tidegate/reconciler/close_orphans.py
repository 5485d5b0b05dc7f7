"""Requeue or end deployments that have not ended and that no queue contains."""

from __future__ import annotations

from functools import partial

from tidegate.deploys.queue.end_deployment import end_orphan
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.queue import waiting_for
from tidegate.deploys.rules.state import State, is_final
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import NotFound

_AT_MOST = 500
#: The reason in the record of a deployment that ends here.
ORPHANED = "Orphaned"


def close_orphans(ports: Ports, turn: ReconcilerPass) -> int:
    return turn.each(sorted(ports.deployments.unshown()), partial(_close, ports), _AT_MOST)


def _close(ports: Ports, deployment_id: str) -> bool:
    try:
        deployment = ports.deployments.get(deployment_id)
    except NotFound:
        return False
    return not is_final(deployment.state) and deciding_again(lambda: _adopt(ports, deployment.id, deployment.queue))


def _adopt(ports: Ports, deployment_id: str, queue: str) -> bool:
    """Read the queue before the record: whatever leaves its queue has ended before."""
    head, _ = ports.queues.read(queue)
    if head.in_flight == deployment_id:
        return False
    if deployment_id in {waiting.deployment for waiting in ports.queues.waiting(queue)}:
        return False
    deployment = ports.deployments.get(deployment_id)
    if is_final(deployment.state):
        return False
    if deployment.state is State.QUEUED:
        ports.queues.commit(head, head, put_back=waiting_for(deployment))
        ports.event_publisher.changed(deployment)
        ensure_worker(ports, queue)
    else:
        end_orphan(ports, head, deployment, ORPHANED)
    return True
