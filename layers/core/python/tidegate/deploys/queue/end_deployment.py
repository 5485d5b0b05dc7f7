"""End the deployment in flight: its record, the queue's baseline and lock, and the published changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from tidegate.deploys.finish import finish
from tidegate.deploys.queue.publish_lock import publish_lock
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.dropped import after_end
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.queue import QueueHead, Worker, head_after, lock_at_end, locks_queue
from tidegate.deploys.rules.state import DONE, State, is_final
from tidegate.deploys.waves import end_in_wave
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def end_deployment(
    ports: Ports, head: QueueHead, deployment: Deployment, error: str | None, worker: Worker | None
) -> Deployment:
    """End ``head``'s deployment in flight, leave the queue to ``worker``, and return the final record.

    A deployment without a result gets one now; no runner can take its apply afterwards. Raise Conflict, or
    CloudUnavailable if the audit topic does not accept the message: nothing has ended then.
    """
    at = ports.clock.now()
    ended = deployment
    if not is_final(deployment.state):
        ended = finish(ports, deployment, _without_result(ports, deployment, error, at))
    after = replace(
        after_end(head, head_after(head, ended), ended),
        in_flight=None,
        last=ended.id,
        worker=worker,
        token=None,
        lock=lock_at_end(ended, head.lock, at),
    )
    if ended is deployment:
        ports.queues.commit(head, after)
    else:
        ports.queues.commit(head, after, deployment=ended)
        ended = replace(ended, version=ended.version + 1)
    announce_end(ports, ended, after)
    return ended


def end_orphan(ports: Ports, head: QueueHead, deployment: Deployment, error: str) -> None:
    """End a deployment that its queue does not know. The queue changes only its lock.

    What it may have applied counts as deployed, because the order relative to the queue's other deployments is unknown.
    Raise Conflict, or CloudUnavailable if the audit topic does not accept the message.
    """
    at = ports.clock.now()
    ended = finish(ports, deployment, _without_result(ports, deployment, error, at))
    after = replace(head, lock=lock_at_end(ended, head.lock, at))
    if ended.state is State.OUTCOME_UNKNOWN:
        after = head_after(after, ended)
    ports.queues.commit(head, after, deployment=ended)
    announce_end(ports, replace(ended, version=ended.version + 1), after)


def announce_end(ports: Ports, ended: Deployment, head: QueueHead) -> None:
    """Publish the deployment's end and the changes of its queue and change set. A repeated call is harmless.

    The check run of a locking deployment may be published without the lock's button, so it is rendered again.
    """
    end_in_wave(ports, ended)
    ports.event_publisher.changed(ended)
    if locks_queue(ended, head):
        ports.event_publisher.refresh(ended.id)
    if ended.state is State.OUTCOME_UNKNOWN:
        publish_lock(ports, head)
    ports.event_publisher.queue_changed(head.queue)
    if ended.request.base_sha:
        ports.event_publisher.pull_request_applied(f"{ended.repository}#{ended.request.pull_request}")
    changes = {ended.change.id, *(_contained(ports, ended) if ended.state in DONE else ())}
    for change_set in sorted(changes - {""}):
        ports.event_publisher.change_moved(change_set)
    if ended.repository in ports.update_repositories:
        ports.event_publisher.stacks_moved(ended.repository)


def _contained(ports: Ports, done: Deployment) -> Iterator[str]:
    """Record that the changes of earlier failed deployments are applied; yield their change sets."""
    ahead = _before(done)
    while ahead:
        older = deciding_again(partial(_mark, ports, ahead.pop(0), done))
        end_in_wave(ports, older)
        yield older.change.id
        ahead += _before(older)


def _mark(ports: Ports, identifier: str, done: Deployment) -> Deployment:
    older = ports.deployments.get(identifier)
    if older.lineage.contained_by is not None or older.state in DONE:
        return older
    marked = replace(older, lineage=replace(older.lineage, contained_by=done.id, contained_at=done.changed_at))
    saved = ports.deployments.save(marked)
    ports.event_publisher.changed(saved)
    return saved


def _without_result(ports: Ports, deployment: Deployment, error: str | None, at: datetime) -> Ending:
    taken = deployment.apply.job is not None and ports.jobs.close(deployment.apply.job)
    return deployment.ending_without_result(error, at, apply_was_taken=taken)


def _before(deployment: Deployment) -> list[str]:
    return [*([deployment.lineage.contains] if deployment.lineage.contains else []), *deployment.lineage.carries]
