"""Let a deployment wait for its requirements: store its token, and check what is missing.

A repeated call is harmless.

The token is stored before the requirements are checked, and a decision is written before the token is read: so one of
the two sees the other.
"""

from __future__ import annotations

from tidegate.deploys.rules.cancelling import not_cancelled
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITS_PER_EXECUTION
from tidegate.deploys.rules.requirements_gate import gate_id, looked_at, waits
from tidegate.deploys.rules.state import State
from tidegate.gates.apply_requirements import missing_requirements
from tidegate.gates.settle_gate import settle_gate
from tidegate.messages import WaitForRequirements
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import GateBlocked, WrongState


def wait_for_requirements(ports: Ports, message: WaitForRequirements) -> None:
    """Wait with ``message.token``; continue immediately if nothing is missing.

    Raise WrongState if the deployment is not at this gate, DeploymentCancelled, GateBlocked if it has waited too often,
    and ForgeUnavailable. A late copy of an earlier attempt, whose token has expired, does nothing.
    """
    deployment = not_cancelled(ports.deployments.get(message.deployment))
    if deployment.state is not State.AWAITING_REQUIREMENTS:
        raise WrongState(deployment.id, deployment.state, "waiting for its apply requirements")
    if message.before >= WAITS_PER_EXECUTION:
        raise GateBlocked(deployment.id, message.before)
    if not ports.deployments.keep_gate_token(deployment.id, gate_id(deployment), message.token, message.attempt):
        return
    ports.event_publisher.changed(not_cancelled(_check(ports, deployment)))
    ports.event_publisher.queue_changed(deployment.queue)


def check_requirements(ports: Ports, identifier: str) -> bool:
    """Check what is missing and update the check run; tell whether the deployment continues."""
    before = ports.deployments.get(identifier)
    looked = _check(ports, before)
    if looked.version != before.version:
        ports.event_publisher.changed(looked)
    return waits(before) and not waits(looked)


def _check(ports: Ports, known: Deployment) -> Deployment:
    looked = deciding_again(lambda: _checked(ports, known.id))
    if looked.state is State.AWAITING_REQUIREMENTS:
        settle_gate(looked, ports.deployments, ports.workflows)
    return looked


def _checked(ports: Ports, identifier: str) -> Deployment:
    deployment = ports.deployments.get(identifier)
    if not waits(deployment):
        return deployment
    looked = looked_at(deployment, missing_requirements(ports, deployment), ports.clock.now())
    return ports.deployments.save(looked) if looked != deployment else deployment


def check_all_requirements(ports: Ports, repository: str) -> int:
    """Check all deployments of a repository that wait for requirements; return how many continue."""
    open_ = ports.deployments.many(sorted(ports.deployments.unshown())).values()
    found = [each.id for each in open_ if each.repository == repository and waits(each)]
    return sum(check_requirements(ports, each) for each in found)
