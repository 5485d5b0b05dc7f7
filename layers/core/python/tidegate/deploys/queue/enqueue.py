"""Put a deployment in its queue, and see to it that somebody works there."""

from __future__ import annotations

from contextlib import suppress

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.queue.ensure_worker import Seen, ensure_worker
from tidegate.deploys.rules.audit import forced_message, with_audited
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.oversized import reduced
from tidegate.deploys.rules.queue import with_another
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import Conflict, OversizedRecord


def enqueue(ports: Ports, deployment: Deployment, seen: Seen | None = None) -> bool:
    """Enqueue ``deployment``; return False when one with its id was enqueued before.

    Then it is announced and a worker is made sure of all the same: whoever enqueued it may have died
    before doing so. One that is too large to be stored is stored reduced, and refused when it is its turn.
    ``seen`` is its queue as it was a moment ago: if it still is, it need not be read for the worker's sake. Raise
    CloudUnavailable when the audit topic does not take a forced one, or the worker could not be
    started: do it all again.
    """
    begun = _audited(ports, deployment.begun())
    after = _stored_upon(ports, begun, seen) if seen else None
    is_new = after is not None or _stored(ports, begun)
    ports.event_publisher.changed(begun if is_new else ports.deployments.get(begun.id))
    ports.event_publisher.queue_changed(begun.queue)
    ensure_worker(ports, begun.queue, after)
    return is_new


def _stored_upon(ports: Ports, deployment: Deployment, seen: Seen) -> Seen | None:
    """Store it if its queue is as it was seen, and return how that is now. Otherwise return None."""
    head, first = seen
    with suppress(Conflict, OversizedRecord):
        if ports.queues.enqueue(deployment, head):
            return with_another(head, first, deployment)
    return None


def _stored(ports: Ports, deployment: Deployment) -> bool:
    try:
        return deciding_again(lambda: ports.queues.enqueue(deployment))
    except OversizedRecord:
        return deciding_again(lambda: ports.queues.enqueue(reduced(deployment)))


def _audited(ports: Ports, deployment: Deployment) -> Deployment:
    """Tell the audit topic of a deployment that was forced, before it is anywhere."""
    if not deployment.request.forced:
        return deployment
    message = forced_message(deployment)
    audit_first(ports.audit, message)
    return with_audited(deployment, message)
