"""Release a queue whose deploy execution failed, was aborted or timed out.

A repeated event publishes the same changes and ensures a worker again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidegate.deploys.queue.end_deployment import announce_end, end_deployment
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.queue import QueueHead, waiting_for, works_here
from tidegate.deploys.rules.state import State
from tidegate.deploys.slots.keep_slots import release_slots
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


@dataclass(frozen=True, slots=True)
class ClosedExecution:
    """A deploy execution that did not succeed; ``status`` is that of Step Functions."""

    queue: str
    execution: str
    status: str


def release_queue(ports: Ports, closed: ClosedExecution) -> None:
    """End or put back the deployment in flight, and start a new worker if there is work.

    After an internal error the reconciler starts the new worker, so that a lasting fault repeats every few minutes and
    not every second. On Conflict or CloudUnavailable, call again.
    """
    deciding_again(lambda: _release(ports, closed))
    if closed.status != "FAILED":
        ensure_worker(ports, closed.queue)


def _release(ports: Ports, closed: ClosedExecution) -> None:
    head, _ = ports.queues.read(closed.queue)
    if not works_here(head, closed.execution):
        _announce_again(ports, head)
        return
    head = replace(head, token=None)
    if head.in_flight is None:
        ports.queues.commit(head, replace(head, worker=None))
    else:
        _release_deployment(ports, head, head.in_flight, f"execution {closed.status}")


def _release_deployment(ports: Ports, head: QueueHead, in_flight: str, error: str) -> None:
    """Put a deployment that has not begun back into the queue; end any other."""
    deployment = ports.deployments.get(in_flight)
    release_slots(ports, [in_flight])  # Its execution has ended; the next claim comes after this.
    if deployment.state is State.QUEUED:
        after = replace(head, worker=None, in_flight=None, last=in_flight)
        ports.queues.commit(head, after, put_back=waiting_for(deployment))
        ports.event_publisher.changed(deployment)
        ports.event_publisher.queue_changed(head.queue)
    else:
        end_deployment(ports, head, deployment, error, worker=None)


def _announce_again(ports: Ports, head: QueueHead) -> None:
    """Publish again what left the queue last: the call that released it may have died before it did."""
    if head.last is not None:
        announce_end(ports, ports.deployments.get(head.last), head)
        ports.event_publisher.refresh(head.last)
