"""Lock all queues of a repository, or of a stack, by hand, and unlock them: one lock, which every queue reads.

The audit topic receives it first.

On Conflict or CloudUnavailable, call again with the same arguments.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from tidegate.deploys.audit_first import audit_first
from tidegate.deploys.authorize import access_refusals, subject
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.audit import scoped_lock_message
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.locking import Locking
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import Lock
from tidegate.deploys.rules.repository_locks import WHOLE, check_scoped_locking, named, scoped_lock
from tidegate.ports import Ports
from tidegate.roots.rules.nearest import nearest
from tidegate.rules.access import Access, Action
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NothingDeployed
from tidegate.rules.permission import Permission
from tidegate.texts.sentences import listed

#: Stacks that are named where one is unknown.
_NAMED = 20


def may_lock_many(
    ports: Ports, repository: str, scope: str, login: str, permission: Permission | None = None
) -> Decision:
    """Decide whether a person may lock and unlock a scope: they must be allowed to unlock each deployed root of it.

    Raise NothingDeployed for a scope without deployments; ForgeUnavailable and ForgeRefused.
    """
    heads = ports.repository_index.roots(repository)
    last = [one for head in heads for one in (head.attempted, *(each.attempted for each in head.by_stack))]
    ids = {one.deployment for one in last if one}
    known = ports.deployments.many(ids | {head.in_flight for head in heads if head.in_flight})
    stacks = {name for each in known.values() for name in (each.stack, *each.within)}
    if scope not in stacks | {WHOLE}:
        names = sorted(stacks)
        raise NothingDeployed(scope, listed(names, _NAMED) if names else "", nearest(scope, names))
    refusals = access_refusals(ports, _accesses(known.values(), scope), repository, Action.UNLOCK, login, permission)
    return Decision(not refusals, " ".join(refusals))


def lock_many(ports: Ports, repository: str, scope: str, locking: Locking) -> Decision:
    """Lock a scope, and return the result; a repeated call is harmless."""
    return deciding_again(lambda: _lock(ports, repository, scope, locking))


def _lock(ports: Ports, repository: str, scope: str, locking: Locking) -> Decision:
    locks = ports.queues.locks(repository)
    decision = check_scoped_locking(locks, scope, locking)
    if not decision.done:
        return decision
    lock = locks.of(scope)
    if lock is None:
        lock = scoped_lock(scope, locking)
        _tell(ports, repository, lock)
        ports.queues.keep_locks(locks.with_lock(lock))
    ports.event_publisher.locked(repository, "", lock)
    for head in _waiting(ports, repository):
        ports.event_publisher.queue_changed(head)
    return decision


def unlock_many(ports: Ports, repository: str, scope: str, unlocking: Unlocking) -> Decision:
    """Unlock a scope, and let waiting deployments continue. Does nothing without an earlier lock."""
    return deciding_again(lambda: _unlock(ports, repository, scope, unlocking))


def _unlock(ports: Ports, repository: str, scope: str, unlocking: Unlocking) -> Decision:
    locks = ports.queues.locks(repository)
    lock = locks.of(scope)
    if lock is not None and lock.at > unlocking.at:
        return Decision(False, f"{lock.by} locked {named(scope)} again after you asked to unlock. Nothing was changed.")
    if lock is not None:
        _tell(ports, repository, lock, unlocking)
        ports.queues.keep_locks(locks.without(scope))
    for queue in _waiting(ports, repository):  # Also if an interrupted call unlocked it before.
        deciding_again(partial(_go_on, ports, queue))
        ports.event_publisher.queue_changed(queue)
    if lock is None:
        return Decision(False, f"{named(scope).capitalize()} of {repository} had no such lock.")
    return Decision(True, f"{unlocking.by} unlocked {named(scope)} of {repository}.")


def _go_on(ports: Ports, queue: str) -> None:
    """Raise the head's version, so that a worker which saw the lock reads again, and ensure a worker."""
    head, _ = ports.queues.read(queue)
    ports.queues.commit(head, head)
    ensure_worker(ports, queue)


def _waiting(ports: Ports, repository: str) -> list[str]:
    return [head.queue for head in ports.repository_index.roots(repository) if head.length]


def _tell(ports: Ports, repository: str, lock: Lock, unlocking: Unlocking | None = None) -> None:
    audit_first(ports.audit, scoped_lock_message(repository, lock, unlocking))


def _accesses(deployments: Iterable[Deployment], scope: str) -> dict[str, Access | None]:
    """Return the access rules of a scope's roots, with descriptions; without any, those of everybody."""
    found: dict[str, Access | None] = {}
    for each in deployments:
        if scope in {WHOLE, each.stack, *each.within}:
            what = subject(each)
            if found.setdefault(what, each.settings.access) != each.settings.access:
                found[f"root {each.root.name} in {what}"] = each.settings.access
    return found or {named(scope): None}
