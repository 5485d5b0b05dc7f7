"""Remove a queue's lock, and let the queue continue.

The caller has checked that the person may unlock.

A repeated call completes an interrupted one and does nothing else. The lock records who unlocks; that is audited, and
only then the lock is removed.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.audit import unlock_message
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import Lock, QueueHead, lock_after
from tidegate.deploys.rules.repository_locks import named
from tidegate.deploys.rules.review import moment
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound


def unlock_queue(ports: Ports, queue: str, unlocking: Unlocking) -> Decision:
    """Remove the lock, and record at the queue and at the locking deployment who did so and when.

    Does nothing if there is no lock, or only a lock that is newer than the request: a late or repeated request must not
    remove a lock that the person never saw. On Conflict or CloudUnavailable, call again with the same ``unlocking``.
    """
    return deciding_again(lambda: _unlock(ports, queue, unlocking))


def _unlock(ports: Ports, queue: str, unlocking: Unlocking) -> Decision:
    head, _ = ports.queues.read(queue)
    if head.lock is not None and head.lock.scope:
        return Decision(
            False, f"This queue has no lock of its own: {named(head.lock.scope)} is locked. Unlock that instead."
        )
    if head.lock is None and head.unlocked != unlocking:
        return Decision(False, _not_locked(head))
    if head.lock is not None and _is_newer(head.lock, unlocking):
        return _before_that_lock(ports, head, head.lock, unlocking)
    by, left = unlocking, head.lock
    if head.lock is not None and head.unlocked != unlocking:
        by, left = _take_away(ports, head, head.lock, unlocking)
    _show(ports, head)
    if by != unlocking:
        return Decision(False, f"{by.by} is already unlocking this queue.")
    return Decision(True, f"{by.by} unlocked the queue. {_still_locked(left)}".rstrip())


def _before_that_lock(ports: Ports, head: QueueHead, lock: Lock, unlocking: Unlocking) -> Decision:
    """Answer a request that is older than the queue's lock: done if it removed the lock before."""
    if head.unlocked == unlocking:
        _show(ports, head)
        return Decision(True, f"{unlocking.by} unlocked the queue. It was locked again on {moment(lock.at)}.")
    return Decision(
        False, f"The queue was locked again on {moment(lock.at)}, after you asked to unlock it. Nothing was changed."
    )


def _take_away(ports: Ports, head: QueueHead, lock: Lock, unlocking: Unlocking) -> tuple[Unlocking, Lock | None]:
    """Remove the lock. Return who did, which is the first request recorded at it, and the remaining head."""
    by = lock.unlocking or unlocking
    if lock.unlocking is None:
        lock = replace(lock, unlocking=by)
        head = ports.queues.commit(head, replace(head, lock=lock))
    audit_first(ports.audit, unlock_message(head, lock, by))
    locking = _locking(ports, lock)
    unlocked = replace(locking, outcome=replace(locking.outcome, unlocked=by)) if locking else None
    left = lock_after(lock, by.at)
    ports.queues.commit(head, replace(head, lock=left, unlocked=by), deployment=unlocked)
    return by, left


def _locking(ports: Ports, lock: Lock) -> Deployment | None:
    try:
        return ports.deployments.get(lock.deployment) if lock.deployment else None
    except NotFound:
        return None


def _show(ports: Ports, head: QueueHead) -> None:
    """Ensure a worker, and update the check runs of waiting deployments and of the one that locked."""
    ensure_worker(ports, head.queue)
    ports.event_publisher.queue_changed(head.queue)
    locked = head.lock.deployment if head.lock else ""
    last = head.attempted.deployment if head.attempted else ""
    for deployment in sorted({locked, last, head.in_flight or ""} - {""}):
        ports.event_publisher.refresh(deployment)


def _is_newer(lock: Lock, unlocking: Unlocking) -> bool:
    """Tell whether the lock was put there after the unlocking was asked for."""
    return lock.at > unlocking.at and lock.unlocking != unlocking


def _still_locked(lock: Lock | None) -> str:
    """Return that an older lock by hand remains."""
    return f"It stays locked, because {lock.by} had locked it manually before: {lock.reason}" if lock else ""


def _not_locked(head: QueueHead) -> str:
    if head.unlocked is None:
        return "This queue is not locked."
    return f"This queue is no longer locked: {head.unlocked.by} unlocked it on {moment(head.unlocked.at)}."
