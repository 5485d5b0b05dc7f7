"""Read queues: the lock, the deployment in flight, and the waiting deployments with their positions. Read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.query import Searched
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.deploys.rules.repository_locks import RepositoryLocks
from tidegate.deploys.rules.root_query_of_deployments import ROOTS, root_tags
from tidegate.ports import Ports
from tidegate.roots.rules.root_query import TagQuery

#: Waiting deployments whose records are read; of further ones only the revision is shown.
SHOWN_WAITING = 100
#: Roots that one request searches, and deployments of these that it reads: one read, and seven of deployments.
SEARCHED, SEARCHED_DEPLOYMENTS = 500, 700


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
    """Roots by name, how many were searched, and the last of these if more follow.

    If none matches, ``hint`` names requested stacks and tags that no root has.
    """

    roots: list[RootView]
    hint: str = ""
    locks: RepositoryLocks = field(default_factory=lambda: RepositoryLocks(""))
    searched: int = 0
    next: str | None = None


def get_queue(ports: Ports, queue: str) -> QueueView:
    """Return one queue, empty if it was never used."""
    head, _ = ports.queues.read(queue)
    waiting = ports.queues.waiting(queue) if head.length else ()
    wanted = [one.deployment for one in waiting[:SHOWN_WAITING]]
    known = ports.deployments.many([*wanted, *filter(None, [head.in_flight])])
    line = tuple(Place(number, one, known.get(one.deployment)) for number, one in enumerate(waiting, 1))
    return QueueView(head, known.get(head.in_flight or ""), line)


def page_of_roots(ports: Ports, repository: str, limit: int, after: str = "") -> FoundRoots:
    """Return at most ``limit`` roots of a repository by name, those after the root ``after``."""
    page = ports.repository_index.some_roots(repository, limit, after)
    locks = ports.queues.locks(repository)
    views = [_under(view, locks) for view in _views(ports, page.heads)]
    return FoundRoots(views, locks=locks, searched=len(views), next=page.next)


def search_queues(ports: Ports, repository: str, query: TagQuery, after: str = "") -> FoundRoots:
    """Return the roots of a repository that match, by name, those after the root ``after``.

    One request searches ``SEARCHED`` roots, or as many as have ``SEARCHED_DEPLOYMENTS`` in flight and in their stacks.
    """
    page = ports.repository_index.some_roots(repository, SEARCHED, after)
    counts = accumulate(len(set(_shown(head))) for head in page.heads)
    few = [head for head, count in zip(page.heads, counts, strict=True) if count <= SEARCHED_DEPLOYMENTS] or page.heads[
        :1
    ]
    following = few[-1].root_name if len(few) < len(page.heads) else page.next
    known, found = Searched(ROOTS), []
    for view in _views(ports, few):
        known.add(chain(view.stacks, *(each.within for each in view.shown)), view.tags)
        if query.matches(root_tags(view.name, repository, view.stacks, view.shown)):
            found.append(view)
    locks = ports.queues.locks(repository)
    hint = "" if found else known.missing(query)
    return FoundRoots([_under(view, locks) for view in found], hint, locks, len(few), following)


def _views(ports: Ports, heads: Sequence[QueueHead]) -> list[RootView]:
    known = ports.deployments.many({identifier for head in heads for identifier in _shown(head)})
    return [_view(head, known) for head in heads]


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
