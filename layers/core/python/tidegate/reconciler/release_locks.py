"""Remove expired locks: what waits for them continues within the reconciler's five minutes."""

from __future__ import annotations

from datetime import datetime
from typing import TypeGuard

from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import Lock
from tidegate.ports import Ports
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.requests.lock_many import unlock_many
from tidegate.rules.actor import TIDEGATE

_AT_MOST = 1000


def release_locks(ports: Ports, turn: ReconcilerPass) -> int:
    unlocking = Unlocking(TIDEGATE, turn.ago(0))

    def queue(name: str) -> bool:
        lock = ports.queues.read(name)[0].lock
        return _is_over(lock, unlocking.at) and not lock.scope and unlock_queue(ports, name, unlocking).done

    def repository(name: str) -> bool:
        over = [each for each in ports.queues.locks(name).locks if _is_over(each, unlocking.at)]
        return sum(unlock_many(ports, name, each.scope, unlocking).done for each in over) > 0

    released = turn.each(sorted(ports.queues.expiring()), repository, _AT_MOST)
    return released + turn.each(sorted(ports.queues.unfinished()), queue, _AT_MOST)


def _is_over(lock: Lock | None, now: datetime) -> TypeGuard[Lock]:
    return lock is not None and lock.expires_at is not None and lock.expires_at <= now
