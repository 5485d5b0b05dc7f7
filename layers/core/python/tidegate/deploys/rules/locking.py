"""Locking a queue by hand: merges wait until somebody unlocks it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from tidegate.deploys.rules.queue import Lock, QueueHead
from tidegate.deploys.rules.review import moment
from tidegate.rules.decision import Decision
from tidegate.rules.errors import InvalidName

#: Characters of a reason: it is shown on check runs and pages.
LONGEST_REASON = 300
#: How long a lock lasts, as people write it; seconds of each unit.
DURATION = r"([1-9][0-9]{0,2})([mhd])"
_SECONDS = {"m": 60, "h": 3600, "d": 86400}
_NO_REASON = "It was locked manually. Merges wait until somebody unlocks the queue."


@dataclass(frozen=True, slots=True)
class Locking:
    """Who locks a queue, when, why, and until when (None: until somebody unlocks)."""

    by: str
    at: datetime
    reason: str = ""
    expires_at: datetime | None = None


def asked_lock(by: str, at: datetime, reason: str, duration: str) -> Locking:
    """Return what somebody asks for at ``at``; ``duration`` is as for ``lock_end``. Raise InvalidName."""
    return Locking(by, at, reason, lock_end(duration, at))


def lock_by_hand(locking: Locking) -> Lock:
    """Return the lock: of no revision and no deployment, so that only an unlocking takes it away."""
    reason = " ".join(locking.reason.split())[:LONGEST_REASON] or _NO_REASON
    return Lock(locking.by, locking.at, "", reason, expires_at=locking.expires_at)


def until(locking: Locking) -> str:
    """Return how long merges wait, as a sentence."""
    if not locking.expires_at:
        return "Merges wait until somebody unlocks it."
    return f"Merges wait until {moment(locking.expires_at)}, or until somebody unlocks it."


def lock_end(duration: str, at: datetime) -> datetime | None:
    """Return when a lock ends that lasts so long, such as ``90m``, ``2h`` or ``3d``; None for an empty text.

    Raise InvalidName for any other text.
    """
    if not duration:
        return None
    found = re.fullmatch(DURATION, duration)
    if found is None:
        raise InvalidName("duration", duration, "use minutes, hours or days, such as 90m, 2h or 3d")
    return at + timedelta(seconds=int(found[1]) * _SECONDS[found[2]])


def check_locking(head: QueueHead, locking: Locking) -> Decision:
    """Decide whether a queue can be locked now. A lock that is there stays: its reason may be an unknown outcome."""
    if not head.version:
        return Decision(
            False, f"{head.root_name} has no queue, because it was never deployed. Lock it after its first deployment."
        )
    lock = head.lock
    if lock is not None and lock != lock_by_hand(locking):
        since = f"on {moment(lock.at)} by {lock.by}"
        return Decision(False, f"The queue was locked {since}: {lock.reason} Unlock it before you lock it again.")
    if head.unlocked is not None and head.unlocked.at > locking.at:
        return Decision(
            False,
            f"{head.unlocked.by} unlocked the queue on {moment(head.unlocked.at)}, after you asked to lock "
            "it. Nothing was changed.",
        )
    return Decision(True, f"{locking.by} locked the queue. {until(locking)}")
