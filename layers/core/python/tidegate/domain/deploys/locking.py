"""Locking a queue by hand: merges wait until somebody unlocks it."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.domain.decision import Decision
from tidegate.domain.deploys.queue import Lock, QueueHead
from tidegate.domain.deploys.review import moment

#: Characters of a reason: it is shown on check runs and pages.
LONGEST_REASON = 300
_NO_REASON = "It was locked by hand. Merges wait until the queue is unlocked."


@dataclass(frozen=True, slots=True)
class Locking:
    """Who locks a queue, when (ISO 8601 in UTC), and why."""

    by: str
    at: str
    reason: str = ""


def lock_by_hand(locking: Locking) -> Lock:
    """Return the lock: of no revision and no deployment, so that only an unlocking takes it away."""
    return Lock(locking.by, locking.at, "", " ".join(locking.reason.split())[:LONGEST_REASON] or _NO_REASON)


def judge_locking(head: QueueHead, locking: Locking) -> Decision:
    """Decide whether a queue can be locked now. A lock that is there stays: its reason may be an unknown outcome."""
    if not head.version:
        return Decision(
            False, f"Nothing was ever deployed to {head.root_name}, so it has no queue. Lock it after its first deploy."
        )
    lock = head.lock
    if lock is not None and lock != lock_by_hand(locking):
        since = f"on {moment(lock.at)} by {lock.by}"
        return Decision(False, f"The queue was locked {since}: {lock.reason} Unlock it first to lock it anew.")
    if head.unlocked is not None and head.unlocked.at > locking.at:
        return Decision(
            False, f"{head.unlocked.by} unlocked the queue on {moment(head.unlocked.at)}, after you asked to lock it."
        )
    return Decision(True, f"{locking.by} locked the queue. Merges wait until somebody unlocks it.")
