"""Read pull requests: the open ones, and one with its layers. Read-only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from tidegate.deploys.rules.query import Searched
from tidegate.deploys.rules.speculative_plan import SpeculativePlan
from tidegate.deploys.slots.check_plan_slots import get_waiting_plans
from tidegate.ports import Ports
from tidegate.pull_requests.rules.query import is_found, pull_request_vocabulary
from tidegate.pull_requests.rules.record import PullRequestRecord, judged
from tidegate.roots.rules.root_query import TagQuery
from tidegate.rules.timestamp import LONG_AGO


@dataclass(frozen=True, slots=True)
class PullRequestView:
    """A pull request with its existing layers, in the order in which a merge would deploy them.

    An open one has conditions by its current layers; layers that wait for a slot name what they wait behind.
    """

    record: PullRequestRecord
    layers: tuple[SpeculativePlan, ...]


@dataclass(frozen=True, slots=True)
class FoundPullRequests:
    """Matching pull requests, newest first; if none matches, ``hint`` names unknown stacks and tags."""

    records: list[PullRequestRecord]
    hint: str = ""


def open_pull_requests(ports: Ports, repositories: Collection[str]) -> Sequence[PullRequestRecord]:
    """Return the open pull requests of these repositories, newest first."""
    keys = [key for key in ports.pull_requests.opened() if key[0] in repositories]
    found = [record for record in ports.pull_requests.many(keys) if record.is_open]
    return sorted(found, key=lambda record: (record.opened_at or LONG_AGO, record.spec.number), reverse=True)


def search_pull_requests(ports: Ports, repositories: Collection[str], query: TagQuery) -> FoundPullRequests:
    """Return the open ones that match: one read for each hundred roots that they affect."""
    known, found = Searched(pull_request_vocabulary(ports.terms)), []
    opened = open_pull_requests(ports, repositories)
    layers = {
        each.id: each for each in ports.speculative_plans.many({name for record in opened for name in record.layers})
    }
    for record in opened:
        its = [layers[name] for name in record.layers if name in layers]
        for each in its:
            known.add((each.stack, *each.within), each.tags)
        if is_found(record, its, query):
            found.append(record)
    return FoundPullRequests(found, "" if found else known.missing(query))


def get_pull_request(ports: Ports, repository: str, number: int) -> PullRequestView:
    """Return a pull request as it is now, also for some time after it closed. Raise NotFound."""
    record = ports.pull_requests.get(repository, number)
    known = {layer.id: layer for layer in ports.speculative_plans.many(record.layers)}
    layers = tuple(known[each] for each in record.layers if each in known)
    if not record.is_open:
        return PullRequestView(record, layers)
    at = max((layer.changed_at for layer in layers if layer.changed_at), default=record.opened_at or LONG_AGO)
    waiting = get_waiting_plans(ports, repository, layers)
    shown = tuple(replace(each, reason=waiting.reasons.get(each.id, each.reason)) for each in layers)
    return PullRequestView(judged(record, layers, at), shown)
