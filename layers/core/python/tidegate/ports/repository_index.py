"""The repository index: repositories, their roots, and the deployments of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.deploys.rules.queue import QueueHead
    from tidegate.deploys.rules.summary import DeploymentSummary


@dataclass(frozen=True, slots=True)
class KnownRepository:
    """A known repository, and its newest known commit.

    ``seen_at`` is when that was.
    """

    name: str
    default_branch: str
    seen: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class RepositoryNames:
    """The names of a repository's roots, stacks and clusters at its newest push, for searches."""

    repository: str
    roots: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """Deployments, newest first, and the key of the next page (None: there is none)."""

    deployments: tuple[DeploymentSummary, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class HeadsPage:
    """Heads of queues, by root name, and the name of the last root if more follow (None: there are none)."""

    heads: tuple[QueueHead, ...]
    next: str | None = None


class RepositoryIndex(Protocol):
    """Repositories, their roots, and the deployments of each, newest first."""

    def remember(self, repository: KnownRepository) -> None:
        """Store what is known of a repository; the later ``seen_at`` wins."""

    def repositories(self) -> Sequence[KnownRepository]:
        """Return all repositories by name."""

    def repository(self, name: str) -> KnownRepository:
        """Return one repository. Raise NotFound."""

    def keep_names(self, names: RepositoryNames) -> None:
        """Store the names of a repository's roots, stacks and clusters; they replace those before."""

    def names(self) -> Sequence[RepositoryNames]:
        """Return the names of all repositories, as far as they were pushed to, by repository."""

    def roots(self, repository: str) -> Sequence[QueueHead]:
        """Return the heads of all queues of a repository, by root name. May be stale by a second."""

    def some_roots(self, repository: str, limit: int, after: str = "") -> HeadsPage:
        """Return at most ``limit`` of these, those after the root ``after``; fewer if they exceed one read of 1 MB."""

    def of_queue(self, queue: str, limit: int, after: str | None = None) -> HistoryPage:
        """Return deployments of one root. ``after`` is a page's ``next``; any other value raises NotFound."""

    def of_repository(self, repository: str, limit: int, after: str | None = None) -> HistoryPage:
        """Return deployments of all roots of a repository. ``after`` is a page's ``next``."""

    def after(self, history: str, deployment: DeploymentSummary) -> str:
        """Return the page key for the deployments before this one. ``history`` is a queue's or a repository's name."""

    def newer(self, deployment: DeploymentSummary) -> DeploymentSummary | None:
        """Return the deployment of the same root that was requested next, None if there is none."""
