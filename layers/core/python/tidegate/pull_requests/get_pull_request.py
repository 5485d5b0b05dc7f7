"""Read pull requests: the open ones, and one with its layers. Read-only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate

from tidegate.deploys.rules.query import Searched
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.slots.check_plan_slots import get_waiting_plans
from tidegate.ports import Ports
from tidegate.pull_requests.rules.query import is_found, pull_request_vocabulary
from tidegate.pull_requests.rules.record import PullRequestRecord, judged
from tidegate.roots.rules.root_query import TagQuery
from tidegate.rules.timestamp import LONG_AGO, timestamp_text

#: Pull requests that one request searches, and roots that these affect: ten reads of DynamoDB.
SEARCHED, SEARCHED_ROOTS = 100, 900
#: Roots of one pull request that are shown: nine reads.
SHOWN_LAYERS = 900
#: When one was opened, its repository and its number.
_Key = tuple[datetime, str, int]


@dataclass(frozen=True, slots=True)
class PullRequestView:
    """A pull request with its existing layers, in the order in which a merge would deploy them.

    An open one has conditions by its current layers, if all are read; layers that wait for a slot name what they wait
    behind. ``left_out`` layers are not read, the last ones.
    """

    record: PullRequestRecord
    layers: tuple[SpeculativePlan, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class FoundPullRequests:
    """Matching pull requests, newest first, how many were searched, and where to continue (None: there are no more).

    If none matches, ``hint`` names unknown stacks and tags.
    """

    records: list[PullRequestRecord]
    hint: str = ""
    searched: int = 0
    next: str | None = None


def open_pull_requests(ports: Ports, repositories: Collection[str], limit: int, after: str = "") -> FoundPullRequests:
    """Return at most ``limit`` open pull requests of these repositories, newest first, before ``after``."""
    keys = _opened(ports, repositories, after)
    shown = keys[:limit]
    records = _records(ports, shown)
    return FoundPullRequests(records, searched=len(shown), next=_place(shown[-1]) if len(keys) > limit else None)


def search_pull_requests(
    ports: Ports, repositories: Collection[str], query: TagQuery, after: str = ""
) -> FoundPullRequests:
    """Return the open ones that match, newest first, before ``after``: in at most two reads and one for each hundred
    roots that they affect.

    One request searches as many as affect ``SEARCHED_ROOTS`` roots, and that many roots of one that affects more.
    """
    known, found = Searched(pull_request_vocabulary(ports.terms)), []
    keys = _opened(ports, repositories, after)
    read = keys[:SEARCHED]
    by_key = {(each.spec.repository, each.spec.number): each for each in _records(ports, read)}
    counts = accumulate(len(by_key[key[1:]].layers) if key[1:] in by_key else 0 for key in read)
    few = [
        key
        for number, (key, count) in enumerate(zip(read, counts, strict=True))
        if count <= SEARCHED_ROOTS or not number
    ]
    records = [by_key[key[1:]] for key in few if key[1:] in by_key]
    wanted = {name for record in records for name in record.layers[:SEARCHED_ROOTS]}
    layers = {each.id: each for each in ports.speculative_plans.many(wanted)}
    for record in records:
        its = [layers[name] for name in record.layers if name in layers]
        for each in its:
            known.add((each.stack, *each.within), each.tags)
        if is_found(record, its, query):
            found.append(record)
    following = _place(few[-1]) if len(few) < len(keys) else None
    return FoundPullRequests(found, "" if found else known.missing(query), len(few), following)


def _opened(ports: Ports, repositories: Collection[str], after: str) -> list[_Key]:
    every = [key for key in ports.pull_requests.newest() if key[1] in repositories]
    return [key for key in every if not after or _place(key) < after]


def _place(key: _Key) -> str:
    """Return what continues after a pull request: a text that sorts as they do."""
    at, repository, number = key
    return f"{timestamp_text(at)} {repository} {number:015}"


def _records(ports: Ports, keys: Sequence[_Key]) -> list[PullRequestRecord]:
    known = {
        (each.spec.repository, each.spec.number): each for each in ports.pull_requests.many([key[1:] for key in keys])
    }
    return [known[key[1:]] for key in keys if key[1:] in known and known[key[1:]].is_open]


def get_pull_request(ports: Ports, repository: str, number: int) -> PullRequestView:
    """Return a pull request as it is now, also for some time after it closed. Raise NotFound."""
    record = ports.pull_requests.get(repository, number)
    wanted = record.layers[:SHOWN_LAYERS]
    known = {layer.id: layer for layer in ports.speculative_plans.many(wanted)}
    layers, left_out = tuple(known[each] for each in wanted if each in known), len(record.layers) - len(wanted)
    if not record.is_open:
        return PullRequestView(record, layers, left_out)
    at = max((layer.changed_at for layer in layers if layer.changed_at), default=record.opened_at or LONG_AGO)
    waiting = get_waiting_plans(ports, repository, layers)
    shown = tuple(replace(each, reason=waiting.reasons.get(each.id, each.reason)) for each in layers)
    return PullRequestView(record if left_out else judged(record, layers, at), shown, left_out)
