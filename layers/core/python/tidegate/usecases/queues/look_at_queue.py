"""Look at queues: who holds the lock, what runs, what waits and in which place. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tidegate.domain.deploys.deployment import Deployment
from tidegate.domain.deploys.needs import FAILED
from tidegate.domain.deploys.queue import QueueHead, Waiting
from tidegate.ports import Catalog, Deployments, DeployQueues

#: Waiting deployments that are looked up: a line that is longer shows the rest by revision only.
SHOWN_WAITING = 100


@dataclass(frozen=True, slots=True)
class Place:
    """One that waits: its place in line, from 1, and its record if it is among those that are looked up."""

    number: int
    waiting: Waiting
    deployment: Deployment | None


@dataclass(frozen=True, slots=True)
class QueueView:
    """A queue as it is now."""

    head: QueueHead
    running: Deployment | None
    line: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class RootView:
    """A root of a repository: its queue's head, what runs there and what was let in last."""

    name: str
    head: QueueHead
    running: Deployment | None
    last: Deployment | None


@dataclass(frozen=True, slots=True)
class QueueLooker:
    """Looks at queues, with a number of reads that does not grow with them."""

    queues: DeployQueues
    deployments: Deployments
    catalog: Catalog

    def queue(self, queue: str) -> QueueView:
        """Return one queue. One that was never used is empty."""
        head, _ = self.queues.read(queue)
        waiting = self.queues.waiting(queue) if head.length else ()
        wanted = [one.deployment for one in waiting[:SHOWN_WAITING]]
        known = self.deployments.many([*wanted, *filter(None, [head.in_flight])])
        line = tuple(Place(number, one, known.get(one.deployment)) for number, one in enumerate(waiting, 1))
        return QueueView(head, known.get(head.in_flight or ""), line)

    def roots(self, repository: str) -> list[RootView]:
        """Return the roots of a repository by name."""
        heads = self.catalog.roots(repository)
        known = self.deployments.many({identifier for head in heads for identifier in _shown(head)})
        return [_view(head, known) for head in heads]

    def glances(self, repositories: Iterable[str]) -> dict[str, list[RootView]]:
        """Return the roots of several repositories by name, with what may need a person.

        What was let in last is told only of roots where it failed and nothing runs. It takes a read for each
        repository, and one for each hundred deployments.
        """
        heads = {name: self.catalog.roots(name) for name in repositories}
        known = self.deployments.many({one for its in heads.values() for head in its for one in _needing(head)})
        return {name: [_view(head, known) for head in its] for name, its in heads.items()}


def _view(head: QueueHead, known: Mapping[str, Deployment]) -> RootView:
    last = head.attempted.deployment if head.attempted else ""
    return RootView(head.root_name, head, known.get(head.in_flight or ""), known.get(last))


def _shown(head: QueueHead) -> list[str]:
    last = head.attempted.deployment if head.attempted else None
    return [identifier for identifier in (head.in_flight, last) if identifier]


def _needing(head: QueueHead) -> list[str]:
    if head.in_flight:
        return [head.in_flight]
    return [head.attempted.deployment] if head.attempted and head.attempted.state in FAILED else []
