"""Search over everything that a person may read, in a bounded number of reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote, urlencode

from tidegate.deploys.rules.summary import DeploymentSummary, summary_of
from tidegate.ports import KnownRepository, Ports, RepositoryNames
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.web.nested import in_path
from tidegate.web.readable import newest

#: Characters of a search, results of a kind, and open pull requests that are read.
LONGEST_SEARCH, MOST_RESULTS, MOST_PULL_REQUESTS = 200, 20, 100
#: Repositories, those pushed to last, whose newest deployments are searched, and how many of these.
SEARCHED_REPOSITORIES, SEARCHED_DEPLOYMENTS = 5, 50
_ID = re.compile(r"[A-Za-z0-9-]{8,100}")
_NUMBER = re.compile(r"[#!]?([1-9][0-9]{0,9})")
_SHA = re.compile(r"[0-9a-f]{4,64}")


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing that was found, where its page is, and what it belongs to."""

    name: str
    address: str
    within: str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """What was found of one kind, such as ``Roots``; ``has_more`` tells that not all is listed."""

    kind: str
    hits: tuple[Hit, ...]
    has_more: bool = False


def search(ports: Ports, repositories: Collection[KnownRepository], text: str) -> Sequence[Hits]:
    """Return what matches every word of ``text``, by kind. ``repositories`` are those that somebody may read."""
    words = text.lower().split()
    if not words:
        return ()
    readable = {each.name for each in repositories}
    recent, names = _recent(ports, repositories), ports.repository_index.names()
    found = [
        _listed("Deployments", (_deployment(one) for one in _deployments(ports, readable, recent, text, words))),
        _listed("Roots", _names(names, readable, words, "roots")),
        _listed(
            ports.terms.pull_requests.capitalize(), (_pull(ports, one) for one in _pulls(ports, readable, text, words))
        ),
        _listed("Commits", _commits(recent, text)),
        _listed("Stacks", _names(names, readable, words, "stacks")),
        _listed("Clusters", _names(names, readable, words, "clusters")),
        _listed("Repositories", (Hit(each, f"/repositories/{each}") for each in sorted(readable) if _has(each, words))),
    ]
    return [each for each in found if each.hits]


def _has(text: str, words: Iterable[str]) -> bool:
    return all(word in text.lower() for word in words)


def _listed(kind: str, hits: Iterable[Hit]) -> Hits:
    found = tuple(islice(hits, MOST_RESULTS + 1))
    return Hits(kind, found[:MOST_RESULTS], len(found) > MOST_RESULTS)


def _recent(ports: Ports, repositories: Iterable[KnownRepository]) -> list[DeploymentSummary]:
    searched = newest(repositories, SEARCHED_REPOSITORIES)
    pages = (ports.repository_index.of_repository(each.name, SEARCHED_DEPLOYMENTS) for each in searched)
    found = [one for page in pages for one in page.deployments]
    return sorted(found, key=lambda one: (one.request.at, one.id), reverse=True)


def _deployments(
    ports: Ports, readable: Collection[str], recent: Iterable[DeploymentSummary], text: str, words: Sequence[str]
) -> Iterable[DeploymentSummary]:
    """Yield the deployment with this id, and recent ones whose change is called so."""
    exact = ports.deployments.many([text]).get(text) if _ID.fullmatch(text) else None
    if exact is not None and exact.repository in readable:
        yield summary_of(exact)
    for one in recent:
        headline = one.request.headline
        number = ports.terms.reference(headline.pull_request) if headline.pull_request else ""
        if _has(f"{headline.text} {headline.title} {number}", words) and (exact is None or one.id != exact.id):
            yield one


def _deployment(one: DeploymentSummary) -> Hit:
    name = f"{one.root.name}: {one.request.headline.text or one.revision.short}"
    return Hit(name, f"/deployments/{quote(one.id)}", one.repository)


def _commits(recent: Iterable[DeploymentSummary], text: str) -> Iterable[Hit]:
    """Yield the commits that begin so, each once, with their deployments."""
    if not _SHA.fullmatch(text.lower()):
        return
    seen = {(one.repository, one.revision.sha): one for one in recent if one.revision.sha.startswith(text.lower())}
    for (repository, sha), one in seen.items():
        where = f"/repositories/{repository}/deployments?{urlencode({'query': f'revision:{sha}'})}"
        yield Hit(f"{sha[:12]} {one.request.headline.text}".strip(), where, repository)


def _names(
    names: Iterable[RepositoryNames], readable: Collection[str], words: Sequence[str], kind: str
) -> Iterable[Hit]:
    """Yield the roots, stacks or clusters that are called so, by repository and name."""
    for known in names:
        if known.repository in readable:
            for name in getattr(known, kind):
                if _has(f"{known.repository} {name}", words) and _has(name, words[-1:]):
                    yield Hit(name, _ADDRESSES[kind](known.repository, name), known.repository)


_ADDRESSES = {
    "roots": lambda repository, name: f"/queue?{urlencode({'repository': repository, 'root': name})}",
    "stacks": lambda repository, name: f"/repositories/{repository}?{urlencode({'query': f'stack_name:{name}'})}",
    "clusters": lambda repository, name: f"/clusters/{in_path(repository)}/{quote(name)}",
}


def _pulls(ports: Ports, readable: Collection[str], text: str, words: Sequence[str]) -> Iterable[PullRequestRecord]:
    """Yield the open pull requests with this number, or among the newest those that are called so."""
    number = _NUMBER.fullmatch(text)
    keys = [key for key in ports.pull_requests.opened() if key[0] in readable]
    if number:
        keys = [key for key in keys if key[1] == int(number[1])]
    newest = sorted(keys, key=lambda key: key[1], reverse=True)[:MOST_PULL_REQUESTS]
    for record in ports.pull_requests.many(newest) if newest else ():
        if record.is_open and (number or _has(f"{record.spec.title} {record.spec.author}", words)):
            yield record


def _pull(ports: Ports, record: PullRequestRecord) -> Hit:
    spec = record.spec
    return Hit(
        f"{ports.terms.reference(spec.number)} {spec.title}", f"/pulls/{spec.repository}/{spec.number}", spec.repository
    )
