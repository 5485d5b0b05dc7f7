"""The catalog in memory, over the stores in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from tests.fakes.stores import MemoryDeployments, MemoryDeployQueues
from tidegate.aws.cursor import cursor, place
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import QueueHead
from tidegate.deploys.rules.summary import DeploymentSummary, summary_of
from tidegate.ports import HeadsPage, HistoryPage, KnownRepository, RepositoryNames
from tidegate.roots.rules.root import queue_id
from tidegate.rules.errors import NotFound


class MemoryRepositoryIndex:
    """The port ``Catalog``."""

    def __init__(self, deployments: MemoryDeployments, queues: MemoryDeployQueues) -> None:
        self._deployments = deployments
        self._queues = queues
        self._repositories: dict[str, KnownRepository] = {}
        self._names: dict[str, RepositoryNames] = {}

    def remember(self, repository: KnownRepository) -> None:
        known = self._repositories.get(repository.name)
        if known is None or known.seen_at <= repository.seen_at:
            self._repositories[repository.name] = repository

    def repositories(self) -> Sequence[KnownRepository]:
        return [self._repositories[name] for name in sorted(self._repositories)]

    def repository(self, name: str) -> KnownRepository:
        if name not in self._repositories:
            raise NotFound("repository", name)
        return self._repositories[name]

    def keep_names(self, names: RepositoryNames) -> None:
        self._names[names.repository] = names

    def names(self) -> Sequence[RepositoryNames]:
        return [self._names[name] for name in sorted(self._names)]

    def roots(self, repository: str) -> Sequence[QueueHead]:
        heads = [head for head in self._queues.heads() if head.home == repository]
        return [replace(head, token=None) for head in sorted(heads, key=lambda head: head.root_name)]

    def some_roots(self, repository: str, limit: int, after: str = "") -> HeadsPage:
        rest = [head for head in self.roots(repository) if head.root_name > after]
        return HeadsPage(tuple(rest[:limit]), rest[limit - 1].root_name if len(rest) > limit else None)

    def of_queue(self, queue: str, limit: int, after: str | None = None) -> HistoryPage:
        found = [deployment for deployment in self._deployments.all() if deployment.queue == queue]
        return _page(queue, found, limit, after)

    def of_repository(self, repository: str, limit: int, after: str | None = None) -> HistoryPage:
        found = [deployment for deployment in self._deployments.all() if deployment.repository == repository]
        return _page(repository, found, limit, after)

    def after(self, history: str, deployment: DeploymentSummary) -> str:
        return cursor(history, deployment.request.at, deployment.id)

    def newer(self, deployment: DeploymentSummary) -> DeploymentSummary | None:
        queue, age = queue_id(deployment.repository, deployment.root.name), (deployment.request.at, deployment.id)
        later = [each for each in self._deployments.all() if each.queue == queue and _age(each) > age]
        return summary_of(min(later, key=_age)) if later else None


def _page(history: str, found: list[Deployment], limit: int, after: str | None) -> HistoryPage:
    newest = sorted(found, key=_age, reverse=True)
    if after is not None:
        end = place(history, after)
        newest = [deployment for deployment in newest if _age(deployment) < end]
    shown = newest[:limit]
    following = cursor(history, *_age(shown[-1])) if len(newest) > limit and shown else None
    return HistoryPage(tuple(map(summary_of, shown)), following)


def _age(deployment: Deployment) -> tuple[datetime, str]:
    return deployment.request.at, deployment.id
