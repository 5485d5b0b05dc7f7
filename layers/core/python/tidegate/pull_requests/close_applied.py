"""Finish a pull request with applies before the merge: unlock its queues after a merge; otherwise cancel what waits,
and comment what stays applied.

Idempotent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.queue import status_of
from tidegate.deploys.rules.state import is_final, moves_baseline
from tidegate.ports import Ports
from tidegate.pull_requests.cancel_applies import cancel_applies
from tidegate.pull_requests.rules.apply_replies import closed_unmerged
from tidegate.pull_requests.rules.record import PullRequestRecord
from tidegate.roots.rules.root import queue_id
from tidegate.rules.actor import TIDEGATE
from tidegate.rules.errors import ForgeRefused


def close_applied(ports: Ports, record: PullRequestRecord, *, merged: bool) -> None:
    """Finish a closed pull request. Raise ForgeUnavailable, Conflict or CloudUnavailable."""
    if merged:
        _unlock(ports, record)
    else:
        cancel_applies(ports, record)
        _tell(ports, record)


def _unlock(ports: Ports, record: PullRequestRecord) -> None:
    """Unlock its queues: the branch contains what was applied."""
    for queue in dict.fromkeys(queue_id(record.spec.repository, each.root) for each in record.applies):
        lock = ports.queues.read(queue)[0].lock
        if lock is not None and lock.pull_request == record.spec.number:
            unlock_queue(ports, queue, Unlocking(TIDEGATE, ports.clock.now()))


def _tell(ports: Ports, record: PullRequestRecord) -> None:
    """Comment once what stays applied, and what is cancelled.

    If the conversation is locked, the comment is skipped, not retried.
    """
    spec, found = record.spec, list(ports.deployments.many([each.deployment for each in record.applies]).values())
    kinds = (
        _stays(ports, found),
        [each for each in found if each.outcome.withdrawn],
        [each for each in found if _goes_on(each)],
    )
    applied, cancelled, going_on = ([(each.root.name, each.revision.sha) for each in kind] for kind in kinds)
    if not (applied or cancelled or going_on):
        return
    text = closed_unmerged(applied, cancelled, going_on)
    try:
        if not ports.comments.our_comments(spec.repository, spec.number, text.partition("\n")[0]):
            ports.comments.comment(spec.repository, spec.number, text)
    except ForgeRefused:
        return


def _stays(ports: Ports, found: Iterable[Deployment]) -> Iterator[Deployment]:
    """Yield what it applied, unless something else was deployed since."""
    for deployment in found:
        head = ports.queues.read(deployment.queue)[0]
        deployed = status_of(head, deployment).deployed
        # A deployment that has just ended is in flight until its queue records it.
        is_there = head.in_flight == deployment.id or (deployed is not None and deployed.deployment == deployment.id)
        if is_there and moves_baseline(deployment.state):
            yield deployment


def _goes_on(deployment: Deployment) -> bool:
    return not (deployment.outcome.withdrawn or is_final(deployment.state))
