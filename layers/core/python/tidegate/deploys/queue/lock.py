"""Lock a queue by hand: merges wait until somebody unlocks it.

The caller has checked that the person may lock. The audit topic receives it first.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.queue.publish_lock import publish_lock
from tidegate.deploys.rules.audit import lock_message
from tidegate.deploys.rules.locking import Locking, check_locking, lock_by_hand
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision


def lock_queue(ports: Ports, queue: str, locking: Locking) -> Decision:
    """Lock the queue, and return the result. A repeated call is harmless.

    On Conflict or CloudUnavailable, call again with the same ``locking``.
    """
    return deciding_again(lambda: _lock(ports, queue, locking))


def _lock(ports: Ports, queue: str, locking: Locking) -> Decision:
    head, _ = ports.queues.read(queue)
    decision = check_locking(head, locking)
    if not decision.done:
        return decision
    if head.lock is None:
        lock = lock_by_hand(locking)
        audit_first(ports.audit, lock_message(head, lock))
        head = ports.queues.commit(head, replace(head, lock=lock))
    publish_lock(ports, head)
    ports.event_publisher.queue_changed(queue)
    return decision
