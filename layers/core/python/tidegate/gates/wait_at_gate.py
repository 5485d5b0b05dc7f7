"""Let a deployment wait for dependencies: store its token, and check whether it has to wait.

A retried state has a new token. The token and the waiting state are stored before the dependencies are read; a
deployment's end is saved before the gates of its change are evaluated. So one of the two sees the other.
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import BEFORE_PLAN, WAITS_PER_EXECUTION
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.deploys.waves import Waves
from tidegate.gates.evaluate_gate import dependencies
from tidegate.gates.look_at_gate import look_at_gate
from tidegate.gates.settle_gate import settle_gate
from tidegate.messages import WaitAtGate
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import GateBlocked, WrongState


def wait_at_gate(ports: Ports, message: WaitAtGate) -> None:
    """Wait with ``message.token``; continue immediately if the gate is open.

    Raise WrongState if the deployment is not at this gate, DeploymentCancelled, GateBlocked if it has waited too often,
    or Conflict after repeated concurrent writes. A late copy of an earlier attempt, whose token has expired, does
    nothing.
    """
    gate = message.job or BEFORE_PLAN
    _check(not_cancelled(ports.deployments.get(message.deployment)), gate)
    if message.before >= WAITS_PER_EXECUTION:
        deciding_again(lambda: _enter(ports, message.deployment, gate))  # Its wait at the gate expires as usual.
        raise GateBlocked(message.deployment, message.before)
    if not ports.deployments.keep_gate_token(message.deployment, gate, message.token, message.attempt):
        return
    deciding_again(lambda: _enter(ports, message.deployment, gate))
    deployment = deciding_again(lambda: _look(ports, message.deployment))
    settle_gate(deployment, ports.deployments, ports.workflows)
    ports.event_publisher.changed(deployment)
    ports.event_publisher.queue_changed(deployment.queue)
    if deployment.state is State.BLOCKED or _may_hold_up_what_it_waits_for(deployment):
        # It may be a dependency of others, and a newer one may supersede it.
        ports.event_publisher.change_moved(deployment.change.id)


def _enter(ports: Ports, identifier: str, gate: str) -> None:
    deployment = not_cancelled(ports.deployments.get(identifier))
    if deployment.gate is not None and deployment.gate.id == gate:
        return
    _check(deployment, gate)
    at = ports.clock.now()
    ports.deployments.save(replace(deployment.moved(State.GATED, at), gate=Gate(gate, at)))


def _look(ports: Ports, identifier: str) -> Deployment:
    deployment = not_cancelled(ports.deployments.get(identifier))
    looked = look_at_gate(Waves(ports), deployment, dependencies(ports, deployment), ports.clock.now())
    return ports.deployments.save(looked) if looked != deployment else deployment


def _may_hold_up_what_it_waits_for(deployment: Deployment) -> bool:
    """Tell whether a dependency may be queued behind the deployment: possible for a root in several stacks."""
    return deployment.shared and deployment.gate is not None and deployment.gate.next is None


def _check(deployment: Deployment, gate: str) -> None:
    """Raise WrongState unless a deployment is at this gate, or comes to it."""
    is_there = deployment.gate is not None and deployment.gate.id == gate
    if not (is_there or _comes_to(deployment, gate)):
        raise WrongState(deployment.id, deployment.state, "waiting for its dependencies")


def _comes_to(deployment: Deployment, gate: str) -> bool:
    """Tell whether a deployment has not passed the gate yet: a late call must not send it back."""
    if deployment.state is not State.PLANNING:
        return False
    if gate == BEFORE_PLAN:
        return deployment.planned.job is None
    return deployment.planned.plan is not None and deployment.planned.plan.job == deployment.planned.job == gate
