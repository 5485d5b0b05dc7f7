"""Locks of many queues: of all roots of a repository, or of all in a stack. Merges wait in each of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from tidegate.deploys.rules.locking import Locking, lock_by_hand, until
from tidegate.deploys.rules.queue import Lock, QueueHead, Waiting
from tidegate.deploys.rules.review import moment
from tidegate.rules.decision import Decision

#: The scope of a lock of all roots of a repository; no stack has this name.
WHOLE = "*"


@dataclass(frozen=True, slots=True)
class RepositoryLocks:
    """The locks of a repository's stacks, and of all of it: at most one for each scope. ``version`` counts writes."""

    repository: str
    locks: tuple[Lock, ...] = ()
    version: int = 0

    def of(self, scope: str) -> Lock | None:
        """Return the lock of a stack, or of the whole repository."""
        return next((each for each in self.locks if each.scope == scope), None)

    def holding(self, stacks: Collection[str]) -> Lock | None:
        """Return a lock that blocks merges of these stacks."""
        return next((each for each in self.locks if each.scope == WHOLE or each.scope in stacks), None)

    def with_lock(self, lock: Lock) -> RepositoryLocks:
        """Return them with one more."""
        return replace(self, locks=(*self.locks, lock))

    def without(self, scope: str) -> RepositoryLocks:
        """Return them without the one of this scope."""
        return replace(self, locks=tuple(each for each in self.locks if each.scope != scope))

    @property
    def expires(self) -> bool:
        """Whether any of them ends by itself."""
        return any(each.expires_at for each in self.locks)


def named(scope: str) -> str:
    """Return a scope's name for people."""
    return "all roots" if scope == WHOLE else f"stack {scope}"


def under(head: QueueHead, first: Waiting | None, locks: RepositoryLocks) -> QueueHead:
    """Return a queue's head with the lock that blocks the first deployment: its own, or else one of its repository."""
    if head.lock is not None or first is None:
        return head
    return replace(head, lock=locks.holding(first.stacks))


def own(head: QueueHead) -> QueueHead:
    """Return a queue's head with its own lock only: others are stored once, with the repository."""
    lock = head.lock
    if lock is None:
        return head
    if lock.scope:
        return replace(head, lock=None)
    return replace(head, lock=replace(lock, before=None)) if lock.before and lock.before.scope else head


def scoped_lock(scope: str, locking: Locking) -> Lock:
    """Return the lock of a scope."""
    return replace(lock_by_hand(locking), scope=scope)


def check_scoped_locking(locks: RepositoryLocks, scope: str, locking: Locking) -> Decision:
    """Decide whether a scope can be locked now. A lock that is there stays."""
    lock = locks.of(scope)
    if lock is not None and lock != scoped_lock(scope, locking):
        since = f"on {moment(lock.at)} by {lock.by}"
        return Decision(
            False,
            f"{named(scope).capitalize()} of {locks.repository} already locked {since}: {lock.reason} "
            "Unlock before you lock again.",
        )
    return Decision(True, f"{locking.by} locked {named(scope)} of {locks.repository}. {until(locking)}")
