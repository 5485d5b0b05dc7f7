"""Settle a gate's token with the decision from the deployment's record."""

from __future__ import annotations

from contextlib import suppress

from tidegate.deploys.rules.deployment import Deployment
from tidegate.messages import GateDecided
from tidegate.ports import Deployments, Workflows
from tidegate.rules.errors import NotFound, TooLate


def settle_gate(deployment: Deployment, deployments: Deployments, workflows: Workflows) -> None:
    """Settle the token of the deployment's gate; a repeated call is harmless. Without a decision, do nothing.

    The token may have expired or been settled before. If nobody waits yet, the next waiter reads the decision.
    """
    gate = deployment.gate
    if gate is None or gate.next is None:
        return
    decided = GateDecided(next=gate.next.value)
    with suppress(TooLate, NotFound):
        workflows.settle(deployments.gate_token(deployment.id, gate.id), decided.model_dump())
