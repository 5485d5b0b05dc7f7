"""Deploy queues, and the records of deployments."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.attention import Attention
    from tidegate.deploys.rules.deployment import Deployment
    from tidegate.deploys.rules.freeze import FreezeWindows
    from tidegate.deploys.rules.needs import Activity
    from tidegate.deploys.rules.queue import QueueHead, Waiting
    from tidegate.deploys.rules.repository_locks import RepositoryLocks


class DeployQueues(Protocol):
    """The deploy queues. An unwritten head has version 0.

    ``read`` and ``line`` return a head with the lock that blocks the first deployment, which may be one of its
    repository; ``commit`` stores the queue's own only. The repository's locks are read after the head: an unlock
    removes the lock first, and then raises the head's version.
    """

    def enqueue(self, deployment: Deployment, seen: QueueHead | None = None) -> bool:
        """Store the deployment, enqueue it and raise the head's version by one, all or nothing.

        Return False, and change nothing, if a deployment with this id was stored before. With ``seen``, raise Conflict
        if the head has another version: otherwise the caller knows the queue without reading it again.
        """

    def read(self, queue: str) -> tuple[QueueHead, Waiting | None]:
        """Return the head and the first deployment, consistently."""

    def read_with(self, queue: str, deployment: str) -> tuple[QueueHead, Deployment]:
        """Return the head and a deployment's record from one transaction. Raise NotFound, or Conflict."""

    def many(self, queues: Collection[str]) -> Mapping[str, QueueHead]:
        """Return the existing heads by queue, in one read for each hundred."""

    def waiting(self, queue: str) -> Sequence[Waiting]:
        """Return all that are queued, first first."""

    def line(self, queue: str) -> tuple[QueueHead, Sequence[Waiting]]:
        """Return the head and all that are queued, first first, in one read."""

    def commit(
        self,
        before: QueueHead,
        after: QueueHead,
        *,
        take: Waiting | None = None,
        put_back: Waiting | None = None,
        deployment: Deployment | None = None,
    ) -> QueueHead:
        """Replace the head if it still has ``before``'s version, and return it with its new version.

        The same transaction removes ``take`` from the queue, returns ``put_back`` to it, and saves ``deployment`` as
        ``Deployments.save`` does. Raise Conflict if anything of it changed.
        """

    def unfinished(self) -> Iterable[str]:
        """Return the queues with waiting deployments, one in flight, or a lock that expires (for the reconciler)."""

    def attention(self, limit: int) -> Sequence[Attention]:
        """Return what is locked or failed, by repository and root: at most ``limit`` roots, in one read.

        May be stale by a second.
        """

    def locks(self, repository: str) -> RepositoryLocks:
        """Return the locks of a repository and its stacks, consistently. Unwritten ones have version 0."""

    def keep_locks(self, locks: RepositoryLocks) -> RepositoryLocks:
        """Replace them if they still have this version; return them with their new one. Raise Conflict."""

    def freezes(self, repository: str) -> FreezeWindows:
        """Return the freeze windows of a repository."""

    def keep_freezes(self, freezes: FreezeWindows) -> None:
        """Replace them."""

    def expiring(self) -> Iterable[str]:
        """Return the repositories with locks that expire. May be stale by a second."""


class Deployments(Protocol):
    def get(self, deployment: str) -> Deployment:
        """Return the record. Raise NotFound."""

    def save(self, deployment: Deployment) -> Deployment:
        """Replace the record if it still has this ``version``; return it with its new version.

        Raise Conflict when it changed.
        """

    def many(self, deployments: Collection[str]) -> Mapping[str, Deployment]:
        """Return the existing records by id, in one read for each hundred."""

    def unshown(self) -> Iterable[str]:
        """Return the deployments that have not ended, or whose end is not published yet (for the reconciler)."""

    def doing(self, does: Activity, limit: int) -> Sequence[str]:
        """Return the ids of deployments that wait, need a decision or run, longest requested first.

        At most ``limit``, in one read. May be stale by a second, and contain some that have just ended.
        """

    def shown(self, deployment: str) -> None:
        """Record that the deployment's end is published, which removes it from ``unshown``."""

    def keep_review_token(self, deployment: str, review: str, token: str, attempt: str = "") -> bool:
        """Store the task token that waits for ``review``; it replaces the token of an earlier attempt.

        ``attempt`` sorts after earlier ones. Return False, and change nothing, if the stored one is of a later attempt.
        """

    def review_token(self, deployment: str, review: str) -> str:
        """Return the token that waits for ``review``. Raise NotFound."""

    def keep_gate_token(self, deployment: str, gate: str, token: str, attempt: str = "") -> bool:
        """Store the task token that waits at ``gate``, as for reviews; it also replaces that of another gate."""

    def gate_token(self, deployment: str, gate: str) -> str:
        """Return the token that waits at ``gate``. Raise NotFound."""
