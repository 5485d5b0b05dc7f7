"""Read queues: the lock, the deployment in flight, and the waiting deployments with their positions. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.needs import FAILED
from tidegate.deploys.rules.query import Searched
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.deploys.rules.repository_locks import RepositoryLocks
from tidegate.deploys.rules.root_query_of_deployments import ROOTS, root_tags
from tidegate.ports import Ports
from tidegate.roots.rules.root_query import TagQuery

#: Waiting deployments whose records are read; of further ones only the revision is shown.
SHOWN_WAITING = 100


@dataclass(frozen=True, slots=True)
class Place:
    """A waiting deployment: its position, from 1, and its record if it was read."""

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
    """A root of a repository: its queue's head, the deployment in flight, and the last admitted ones, overall and by
    stack.
    """

    name: str
    head: QueueHead
    running: Deployment | None
    last: Deployment | None
    others: tuple[Deployment, ...] = ()

    @property
    def shown(self) -> tuple[Deployment, ...]:
        """The root's known deployments: in flight, last admitted, and the last of each stack."""
        return tuple(each for each in (self.running, self.last, *self.others) if each)

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks in which it was deployed, by name, without their parent stacks."""
        known = {each.stack for each in self.head.by_stack} | {each.stack for each in self.shown}
        return tuple(sorted(known))

    @property
    def tags(self) -> tuple[str, ...]:
        """The root's own tags in those deployments."""
        return tuple(sorted({tag for each in self.shown for tag in each.tags}))


@dataclass(frozen=True, slots=True)
class FoundRoots:
    """Roots that match. If none does, ``hint`` names requested stacks and tags that no root has."""

    roots: list[RootView]
    hint: str = ""
    locks: RepositoryLocks = field(default_factory=lambda: RepositoryLocks(""))


@dataclass(frozen=True, slots=True)
class RootsPage:
    """Some roots of a repository, how many there are in all, and the last of these if more follow."""

    roots: tuple[RootView, ...]
    total: int
    next: str | None
    locks: RepositoryLocks


def get_queue(ports: Ports, queue: str) -> QueueView:
    """Return one queue, empty if it was never used."""
    head, _ = ports.queues.read(queue)
    waiting = ports.queues.waiting(queue) if head.length else ()
    wanted = [one.deployment for one in waiting[:SHOWN_WAITING]]
    known = ports.deployments.many([*wanted, *filter(None, [head.in_flight])])
    line = tuple(Place(number, one, known.get(one.deployment)) for number, one in enumerate(waiting, 1))
    return QueueView(head, known.get(head.in_flight or ""), line)


def get_roots(ports: Ports, repository: str) -> list[RootView]:
    """Return the roots of a repository by name."""
    heads = ports.repository_index.roots(repository)
    known = ports.deployments.many({identifier for head in heads for identifier in _shown(head)})
    return [_view(head, known) for head in heads]


def page_of_roots(ports: Ports, repository: str, limit: int, after: str = "") -> RootsPage:
    """Return at most ``limit`` roots of a repository by name, those after the root ``after``.

    This reads all heads, but deployments of the page's roots only.
    """
    heads = ports.repository_index.roots(repository)
    rest = [head for head in heads if head.root_name > after]
    shown = rest[:limit]
    known = ports.deployments.many({identifier for head in shown for identifier in _shown(head)})
    locks = ports.queues.locks(repository)
    views = tuple(_under(_view(head, known), locks) for head in shown)
    return RootsPage(views, len(heads), shown[-1].root_name if len(rest) > limit else None, locks)


def search_queues(ports: Ports, repository: str, query: TagQuery) -> FoundRoots:
    """Return the roots of a repository that match, by name."""
    known, found = Searched(ROOTS), []
    for view in get_roots(ports, repository):
        known.add(chain(view.stacks, *(each.within for each in view.shown)), view.tags)
        if query.matches(root_tags(view.name, repository, view.stacks, view.shown)):
            found.append(view)
    locks = ports.queues.locks(repository)
    return FoundRoots([_under(view, locks) for view in found], "" if found else known.missing(query), locks)


def queue_glances(ports: Ports, repositories: Iterable[str]) -> dict[str, list[RootView]]:
    """Return the roots of several repositories by name, with what may need a person.

    The last admitted deployment is given only for roots where it failed and nothing runs. This takes one read for each
    repository and one for each hundred deployments.
    """
    heads = {name: ports.repository_index.roots(name) for name in repositories}
    known = ports.deployments.many({one for its in heads.values() for head in its for one in _needing(head)})
    return {name: [_view(head, known) for head in its] for name, its in heads.items()}


def _view(head: QueueHead, known: Mapping[str, Deployment]) -> RootView:
    last = head.attempted.deployment if head.attempted else ""
    others = tuple(known[each] for each in _in_stacks(head) if each in known and each != last)
    return RootView(head.root_name, head, known.get(head.in_flight or ""), known.get(last), others)


def _under(view: RootView, locks: RepositoryLocks) -> RootView:
    """Return a root with the lock that blocks its merges: its own, or that of a stack or the repository."""
    if view.head.lock is not None:
        return view
    names = {name for each in view.shown for name in (each.stack, *each.within)}
    return replace(view, head=replace(view.head, lock=locks.holding(names)))


def _in_stacks(head: QueueHead) -> list[str]:
    return [each.attempted.deployment for each in head.by_stack if each.attempted]


def _shown(head: QueueHead) -> list[str]:
    last = head.attempted.deployment if head.attempted else None
    return [identifier for identifier in (head.in_flight, last, *_in_stacks(head)) if identifier]


def _needing(head: QueueHead) -> list[str]:
    if head.in_flight:
        return [head.in_flight]
    return [head.attempted.deployment] if head.attempted and head.attempted.state in FAILED else []
