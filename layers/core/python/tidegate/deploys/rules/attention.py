"""Which roots need attention whatever runs: those that are locked, and those whose last deployment failed."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.deploys.rules.needs import KNOWN_FAILURES
from tidegate.deploys.rules.queue import Deployed, Lock, QueueHead
from tidegate.deploys.rules.repository_locks import RepositoryLocks
from tidegate.roots.rules.root import QUEUE_SEPARATOR


@dataclass(frozen=True, slots=True)
class Attention:
    """Why a root needs attention: its lock, and the failed deployment that it shows until its next one.

    ``queue`` is a queue's id, or a repository's name for the locks of its stacks.
    """

    queue: str
    locks: tuple[Lock, ...] = ()
    failed: Deployed | None = None

    @property
    def repository(self) -> str:
        """The repository that it is in."""
        return self.queue.partition(QUEUE_SEPARATOR)[0]

    @property
    def root(self) -> str:
        """The name of the root; empty for the locks of a repository."""
        return self.queue.partition(QUEUE_SEPARATOR)[2]


def attention_of(head: QueueHead) -> Attention | None:
    """Return why a root needs attention; None if it needs none."""
    failed = head.attempted if head.attempted is not None and head.attempted.state in KNOWN_FAILURES else None
    locks = (head.lock,) if head.lock else ()
    return Attention(head.queue, locks, failed) if locks or failed else None


def attention_of_locks(locks: RepositoryLocks) -> Attention | None:
    """Return that the locks of a repository's stacks need attention; None if there are none."""
    return Attention(locks.repository, locks.locks) if locks.locks else None
