"""Let a job of a deployment wait for a concurrency slot: store its token and join the queue.

A retried state has a new token and keeps its position.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.slots import INSTALLATION, needs_slot, precedence_of
from tidegate.deploys.slots.keep_slots import join_slot_queue
from tidegate.messages import WaitForSlot
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import TooLate, WrongState


def wait_for_slot(ports: Ports, message: WaitForSlot) -> None:
    """Wait with ``message.token``; continue immediately with a slot that an earlier attempt was given.

    Raise DeploymentCancelled; WrongState if no job of the deployment is to begin; TooManyWait; or Conflict after
    repeated concurrent writes. A late copy of an earlier attempt, whose token has expired, does nothing.
    """
    deployment = _waiting(ports, message.deployment)
    if not ports.plan_slots.keep_token(INSTALLATION, deployment.id, message.token, message.attempt):
        return
    deployment = deciding_again(lambda: _marked(ports, message.deployment))
    if deployment.id in join_slot_queue(ports, deployment.id, precedence_of(deployment)).held:
        with suppress(TooLate):
            ports.workflows.settle(message.token, {})
    ports.event_publisher.changed(deployment)


def _marked(ports: Ports, identifier: str) -> Deployment:
    """Say in the record since when it waits. Who cancels it writes there first, and reads the token then."""
    deployment = _waiting(ports, identifier)
    if deployment.slot_since:
        return deployment
    at = ports.clock.now()
    return ports.deployments.save(replace(deployment, slot_since=at, changed_at=at))


def _waiting(ports: Ports, identifier: str) -> Deployment:
    deployment = not_cancelled(ports.deployments.get(identifier))
    if not needs_slot(deployment):
        raise WrongState(deployment.id, deployment.state, "waiting for a concurrency slot")
    return deployment
