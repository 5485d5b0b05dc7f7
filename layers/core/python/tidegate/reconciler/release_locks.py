"""Take away the locks that have expired: what waits for them goes on within the reconciler's five minutes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

from tidegate.deploys.rules.deployment import Unlocking
from tidegate.deploys.rules.queue import Lock
from tidegate.ports import DeployQueues
from tidegate.reconciler.turn import Turn
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.decision import Decision

_AT_MOST = 1000


@dataclass(frozen=True, slots=True)
class ReleaseLocks:
    """Releases locks. ``unlock`` takes a queue's own away, ``unlock_scope`` one of a repository; again is harmless."""

    queues: DeployQueues
    unlock: Callable[[str, Unlocking], Decision]
    unlock_scope: Callable[[str, str, Unlocking], Decision]

    def repair(self, turn: Turn) -> int:
        unlocking = Unlocking(TIDEGATE, turn.ago(0))

        def queue(name: str) -> bool:
            lock = self.queues.read(name)[0].lock
            return _is_over(lock, unlocking.at) and not lock.scope and self.unlock(name, unlocking).done

        def repository(name: str) -> bool:
            over = [each for each in self.queues.locks(name).locks if _is_over(each, unlocking.at)]
            return sum(self.unlock_scope(name, each.scope, unlocking).done for each in over) > 0

        released = turn.each(sorted(self.queues.expiring()), repository, _AT_MOST)
        return released + turn.each(sorted(self.queues.unfinished()), queue, _AT_MOST)


def _is_over(lock: Lock | None, now: str) -> TypeGuard[Lock]:
    return lock is not None and bool(lock.expires_at) and lock.expires_at <= now
