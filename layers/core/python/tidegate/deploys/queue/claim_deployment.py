"""Claim the first deployment of the queue, or decide the worker's next step.

A repeated claim returns the deployment in flight.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.queue import NextStep, QueueHead, Step, Worked, Worker, next_step
from tidegate.messages import ClaimDeployment, Claimed
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again


def claim_deployment(ports: Ports, message: ClaimDeployment) -> Claimed:
    """Decide and commit the worker's next step. Raise Conflict after repeated concurrent writes."""
    return deciding_again(lambda: _claim(ports, message))


def _claim(ports: Ports, message: ClaimDeployment) -> Claimed:
    head, first = ports.queues.read(message.queue)
    next_ = next_step(head, first, message.execution, _worked(ports, message), ports.rounds)
    after = _after(head, next_)
    if after != head:
        head = ports.queues.commit(head, after, take=next_.take)
    if next_.step is Step.DEPLOY:
        ports.event_publisher.queue_changed(message.queue)
    deployment = head.in_flight if next_.step is Step.DEPLOY else None
    return Claimed(step=next_.step.value, reason=next_.reason, version=head.version, deployment=deployment)


def _worked(ports: Ports, message: ClaimDeployment) -> Worked:
    age = ports.clock.now() - message.started
    return Worked(message.rounds, age)


def _after(head: QueueHead, next_: NextStep) -> QueueHead:
    """Return the head after the step: the worker has begun.

    The token stays although a claiming worker does not wait: if this is a late repetition of an earlier claim, the
    worker does wait, and the next signal must reach it.
    """
    if next_.step is Step.STOP or head.worker is None:
        return head
    worker = Worker(head.worker.execution, head.worker.generation, started=True)
    in_flight = next_.take.deployment if next_.take else head.in_flight
    return replace(head, worker=worker, in_flight=in_flight)
