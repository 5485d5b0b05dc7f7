"""Answer the token of a gate with what follows from it, as the deployment's record says."""

from __future__ import annotations

from contextlib import suppress

from tidegate.deploys.rules.deployment import Deployment
from tidegate.messages import GateDecided
from tidegate.ports import Deployments, Workflows
from tidegate.rules.errors import NotFound, TooLate


def settle_gate(deployment: Deployment, deployments: Deployments, workflows: Workflows) -> None:
    """Answer the token of the deployment's gate; again is harmless. Do nothing where nothing was decided.

    Nobody may wait any more: this was answered before, or the gate's time ran out. Or nobody waits yet: who
    comes then reads the decision.
    """
    gate = deployment.gate
    if gate is None or gate.next is None:
        return
    decided = GateDecided(next=gate.next.value)
    with suppress(TooLate, NotFound):
        workflows.settle(deployments.gate_token(deployment.id, gate.id), decided.model_dump())
