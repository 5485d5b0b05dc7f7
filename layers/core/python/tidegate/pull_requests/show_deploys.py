"""Update the comments of a merged pull request with its deployments, until all have ended."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

from tidegate.changes.rules.change_set import Key
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.queue import Lock, QueueHead
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import DONE, State
from tidegate.ports import (
    Ports,
    PublishedCheckRun,
)
from tidegate.pull_requests.find_record import record_of
from tidegate.pull_requests.pull_request_view import deployment_page, pull_request_page
from tidegate.pull_requests.rules.comment import MARKER, render_closed
from tidegate.pull_requests.rules.merged import MergedRoot, is_settled, render_merged, with_end
from tidegate.pull_requests.rules.record import Applying, PullRequestRecord
from tidegate.roots.rules.root import deployment_id, queue_id
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ForgeRefused, NotFound, NotYet
from tidegate.rules.timestamp import LONG_AGO
from tidegate.vcs.rules.comparison import Comparison

#: Microseconds by which a push may be known before the merge: an hour.
_BEFORE = 3_600_000_000
_OF_MERGES = frozenset({Trigger.MERGE, Trigger.RERUN})
_CONTAINS = frozenset({Comparison.AHEAD, Comparison.IDENTICAL})


def deploys_changed(ports: Ports, deployment: Deployment) -> None:
    """Request updates of merged pull requests' comments that wait for a deployment's root."""
    if deployment.request.trigger not in _OF_MERGES:
        return
    merged = [each for each in ports.pull_requests.deploying() if each[0] == deployment.repository]
    for record in ports.pull_requests.many(merged) if merged else ():
        if any(each.key == (deployment.root.name, deployment.stack) for each in record.deploys):
            ports.event_publisher.pull_request_deployed(record.spec.id)


def show_deploys(ports: Ports, pull_request: str, not_before: float) -> None:
    """Publish the results of the roots. Unchanged comments cost no call.

    Raise NotYet before ``not_before`` (seconds since 1970), and ForgeUnavailable.
    """
    early = not_before - ports.clock.now().timestamp()
    if early > 0:
        raise NotYet(max(1, round(early)))
    record = record_of(ports, pull_request)
    if record is None or not record.is_deploying or record.closed_at is None:
        return
    own = _own(ports, record)
    roots = _roots(ports, record, own)
    texts = {stack: _text(ports, record, stack, roots) for stack, _ in record.comments}
    digests = tuple((stack, hashlib.sha256(text.encode()).hexdigest()) for stack, text in texts.items())
    if digests != record.told:
        with suppress(ForgeRefused):  # A conversation may be locked: check runs show the results all the same.
            _write(ports, record, texts)
    settled = is_settled(roots, record.closed_at, ports.clock.now())
    deploys = tuple(replace(each, deployment=_id(own.get(each.key))) for each in record.deploys)
    told = replace(record, deploys=deploys, told=digests, settled=settled)
    if told != record:
        deciding_again(partial(_save, ports, told))


def _save(ports: Ports, told: PullRequestRecord) -> None:
    record = ports.pull_requests.get(told.spec.repository, told.spec.number)
    ports.pull_requests.save(replace(record, deploys=told.deploys, told=told.told, settled=told.settled))


def _text(ports: Ports, record: PullRequestRecord, stack: str, roots: Sequence[MergedRoot]) -> str:
    """Return the end of a stack's comment, nothing without a root of it; a comment of no stack has all."""
    of_stack = [each for each in roots if not stack or each.stack == stack]
    return render_merged(of_stack, pull_request_page(ports, record.spec)) if of_stack else ""


def _write(ports: Ports, record: PullRequestRecord, texts: Mapping[str, str]) -> None:
    """Update the comments that changed. Deleted ones stay deleted."""
    spec, applied = record.spec, bool(record.applies)
    page = pull_request_page(ports, spec)
    there = ports.comments.our_comments(spec.repository, spec.number, MARKER)
    for stack, comment in record.comments:
        if comment not in there:
            continue
        closed = render_closed(there[comment], page, merged=True, applied=applied)
        text = with_end(closed, texts[stack]) if texts[stack] else closed
        if text != there[comment]:
            with suppress(NotFound):
                ports.comments.update_comment(spec.repository, spec.number, comment, text)


def _roots(ports: Ports, record: PullRequestRecord, own: Mapping[Key, Deployment]) -> list[MergedRoot]:
    newest = _newest(ports, own.values())
    found = {key: newest[each.id] for key, each in own.items()}
    locks = _locks(ports, record.spec.repository, found)
    urls = {key: deployment_page(ports, each.id) for key, each in found.items()}

    def merged(key: Key) -> MergedRoot:
        return MergedRoot(*key, record.merge_sha, found.get(key), urls.get(key, ""), locks.get(key))

    return [merged(each.key) for each in record.deploys]


def _locks(ports: Ports, repository: str, found: Mapping[Key, Deployment]) -> dict[Key, Lock | None]:
    """Return the locks that may block queued ones: of the queue, or of the stack."""
    queued = {key: each for key, each in found.items() if each.state is State.QUEUED}
    if not queued:
        return {}
    heads, locks = ports.queues.many({each.queue for each in queued.values()}), ports.queues.locks(repository)
    own = {queue: head.lock for queue, head in heads.items()}
    return {key: own.get(each.queue) or locks.holding((each.stack, *each.within)) for key, each in queued.items()}


def _own(ports: Ports, record: PullRequestRecord) -> dict[Key, Deployment]:
    """Return the first deployment of each root that contains the merge: of its commit or a later one."""
    asked = {each.key: [each.deployment] if each.deployment else _ids(record, each) for each in record.deploys}
    found = ports.deployments.many([one for ids in asked.values() for one in ids])
    own = {key: found[one] for key, ids in asked.items() for one in ids if one in found}
    missing = [each for each in record.deploys if each.key not in own]
    return {**_later(ports, record, missing), **own} if missing else own


def _later(ports: Ports, record: PullRequestRecord, missing: Sequence[Applying]) -> dict[Key, Deployment]:
    """Return the deployments of a later push, as of a merge queue with several pull requests."""
    queues = {each.key: queue_id(record.spec.repository, each.root) for each in missing}
    heads = ports.queues.many(set(queues.values()))
    candidates = {key: _around(heads[queue]) for key, queue in queues.items() if queue in heads}
    known = ports.deployments.many({one for ids in candidates.values() for one in ids}) if candidates else {}
    contains: dict[str, bool] = {}
    found: dict[Key, Deployment] = {}
    for key, ids in candidates.items():
        deployments = (known[one] for one in ids if one in known and _may_be(known[one], record, key))
        ordered = sorted(deployments, key=lambda one: one.request.at)
        first = next((each for each in ordered if _contains(ports, record, each.revision.sha, contains)), None)
        if first is not None:
            found[key] = first
    return found


def _contains(ports: Ports, record: PullRequestRecord, sha: str, known: dict[str, bool]) -> bool:
    """Tell whether a commit contains the merge; ``known`` caches the answers."""
    if sha not in known:
        known[sha] = ports.commits.compare(record.spec.repository, record.merge_sha, sha) in _CONTAINS
    return known[sha]


def _newest(ports: Ports, first: Iterable[Deployment]) -> dict[str, Deployment]:
    """Return, by id, the deployments that replaced others: of a newer commit, or re-runs."""
    newest = {each.id: each for each in first}
    seen = set(newest)
    while moved := _successors(ports, newest, seen):
        newest |= moved
        seen |= {each.id for each in moved.values()}
    return newest


def _successors(ports: Ports, newest: Mapping[str, Deployment], seen: Collection[str]) -> dict[str, Deployment]:
    undone = {one: each for one, each in newest.items() if each.state not in DONE}
    shown = ports.check_runs.many([each.id for each in undone.values()]) if undone else {}
    wanted = {one: _successor(each, shown.get(each.id)) for one, each in undone.items()}
    found = ports.deployments.many([each for each in wanted.values() if each and each not in seen])
    return {one: found[each] for one, each in wanted.items() if each in found}


def _id(deployment: Deployment | None) -> str:
    return deployment.id if deployment else ""


def _may_be(deployment: Deployment, record: PullRequestRecord, key: Key) -> bool:
    """Tell whether a deployment may contain the merge: its push is from about then, or later."""
    since = (record.closed_at or LONG_AGO) + timedelta(microseconds=-_BEFORE)
    return deployment.request.trigger is Trigger.MERGE and deployment.stack == key[1] and deployment.request.at >= since


def _successor(deployment: Deployment, shown: PublishedCheckRun | None) -> str:
    again = shown.repeated_by if shown else ""
    return again or deployment.lineage.contained_by or deployment.lineage.superseded_by or ""


def _ids(record: PullRequestRecord, each: Applying) -> list[str]:
    """Return the possible ids of the merge's deployment: for a root in several stacks they name the stack."""
    merge = record.spec.repository, each.root, record.merge_sha, Trigger.MERGE
    return [deployment_id(*merge), deployment_id(*merge, each.stack)]


def _around(head: QueueHead) -> list[str]:
    """Return the deployments that a queue's head names."""
    stands = [(head.deployed, head.attempted, head.undone)]
    stands += [(each.deployed, each.attempted, each.undone) for each in head.by_stack]
    ended = [one.deployment for three in stands for one in three if one is not None]
    return [*dict.fromkeys([*([head.in_flight] if head.in_flight else []), *ended])]
