"""Search the deployments of repositories, or of one root, by a tag query. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge

from tidegate.deploys.rules.query import DEPLOYMENTS, Searched, deployment_tags
from tidegate.deploys.rules.summary import DeploymentSummary
from tidegate.ports import HistoryPage, Ports
from tidegate.roots.rules.root import queue_id
from tidegate.roots.rules.root_query import TagQuery

#: Deployments that one request reads: some ten reads of DynamoDB, a fraction of a second.
SEARCHED = 1000
#: Deployments that one read returns; of several repositories, the first read of each returns no more than are wanted.
_READ = 100
#: Reads of a search of several repositories at most.
MOST_READS = 13


@dataclass(frozen=True, slots=True)
class Found:
    """Matching deployments, newest first, how many were searched, and where to continue.

    If none matches, ``hint`` names requested stacks and tags that no deployment has.
    """

    deployments: tuple[DeploymentSummary, ...]
    searched: int
    next: str | None
    hint: str = ""


def search_deployments(
    ports: Ports, repository: str, query: TagQuery, limit: int, *, root: str | None = None, after: str | None = None
) -> Found:
    """Return at most ``limit`` matching deployments, newest first, before ``after``. Raise NotFound for an unknown
    position.
    """
    found: list[DeploymentSummary] = []
    searched, known = 0, Searched(DEPLOYMENTS)
    while True:
        page = _page(ports, repository, root, after)
        for one in page.deployments:
            searched += 1
            known.add((one.stack, *one.within), one.tags)
            if query.matches(deployment_tags(one)):
                found.append(one)
            if len(found) == limit:
                return Found(tuple(found), searched, _following(ports, repository, root, page, one))
        after = page.next
        if after is None or searched >= SEARCHED:
            return Found(tuple(found), searched, after, "" if found else known.missing(query))


def search_all_deployments(
    ports: Ports, repositories: Iterable[str], query: TagQuery, limit: int, after: DeploymentSummary | None = None
) -> Found:
    """Return at most ``limit`` matching deployments of several repositories, newest first, before ``after``.

    ``next`` is the id of the last deployment searched. Each repository costs at least one read: name fewer than
    ``MOST_READS``.
    """
    reads = iter(range(MOST_READS))
    histories = (_history(ports, repository, after, limit, reads) for repository in repositories)
    newest = merge(*histories, key=lambda one: (one.request.at, one.id), reverse=True)
    found: list[DeploymentSummary] = []
    searched, known, last = 0, Searched(DEPLOYMENTS), ""
    try:
        for one in newest:
            if len(found) == limit or searched == SEARCHED:
                return Found(tuple(found), searched, last)
            searched, last = searched + 1, one.id
            known.add((one.stack, *one.within), one.tags)
            if query.matches(deployment_tags(one)):
                found.append(one)
    except _EnoughRead:
        return Found(tuple(found), searched, last)
    return Found(tuple(found), searched, None, "" if found else known.missing(query))


class _EnoughRead(Exception):  # Named for what it tells.
    """No further page may be read."""


def _history(
    ports: Ports, repository: str, after: DeploymentSummary | None, first: int, reads: Iterator[int]
) -> Iterator[DeploymentSummary]:
    """Yield the deployments of a repository, ``first`` of the first read. Raise _EnoughRead when ``reads`` end."""
    place, size = None if after is None else ports.repository_index.after(repository, after), first
    while True:
        if next(reads, None) is None:
            raise _EnoughRead
        page = ports.repository_index.of_repository(repository, size, place)
        yield from page.deployments
        place, size = page.next, _READ
        if place is None:
            return


def _page(ports: Ports, repository: str, root: str | None, after: str | None) -> HistoryPage:
    if root is None:
        return ports.repository_index.of_repository(repository, _READ, after)
    return ports.repository_index.of_queue(queue_id(repository, root), _READ, after)


def _following(
    ports: Ports, repository: str, root: str | None, page: HistoryPage, last: DeploymentSummary
) -> str | None:
    if page.next is None and page.deployments[-1].id == last.id:
        return None
    return ports.repository_index.after(repository if root is None else queue_id(repository, root), last)
