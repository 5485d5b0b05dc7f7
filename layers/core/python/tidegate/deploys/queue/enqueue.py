"""Add a deployment to its queue, and ensure a worker."""

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
    """Enqueue ``deployment``; return False if its id was enqueued before.

    Even then, publish it and ensure a worker: an earlier call may have died before doing so. A deployment too large for
    the table is stored reduced, and refused when it is its turn. ``seen`` is its queue as read a moment ago; if
    unchanged, it is not read again. Raise CloudUnavailable if the audit topic does not accept a forced deployment, or
    the worker could not be started: call again then.
    """
    begun = _audited(ports, deployment.begun())
    after = _stored_upon(ports, begun, seen) if seen else None
    is_new = after is not None or _stored(ports, begun)
    ports.event_publisher.changed(begun if is_new else ports.deployments.get(begun.id))
    ports.event_publisher.queue_changed(begun.queue)
    ensure_worker(ports, begun.queue, after)
    return is_new


def _stored_upon(ports: Ports, deployment: Deployment, seen: Seen) -> Seen | None:
    """Store it if its queue is unchanged since ``seen``, and return the new queue. Otherwise return None."""
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
    """Publish a forced deployment to the audit topic before it is stored."""
    if not deployment.request.forced:
        return deployment
    message = forced_message(deployment)
    audit_first(ports.audit, message)
    return with_audited(deployment, message)
