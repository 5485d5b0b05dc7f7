"""What people do in a case, and what AWS refuses meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.stepfunctions.faults import FOR_GOOD, invokes, throttled_then_unavailable
from tests.stepfunctions.world import RootInWorld
from tidegate.deploys.rules.deployment import Deployment, State
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.decide_requirements import RequirementsDecider

Act = Callable[[RootInWorld, Deployment], None]
Faults = Callable[[RootInWorld, Deployment], list[dict[str, Any]]]


def nobody(_: RootInWorld, __: Deployment) -> None:
    """Let it run."""


def confirm(root: RootInWorld, deployment: Deployment) -> None:
    root.press(deployment, "Confirm")


def reject(root: RootInWorld, deployment: Deployment) -> None:
    root.press(deployment, "Reject")


def override(root: RootInWorld, deployment: Deployment) -> None:
    """Let it pass as an operator, once it waits for what it requires."""
    wires = root.world.tidegate
    root.until_state(deployment, State.AWAITING_REQUIREMENTS)
    nothing_is_asked: Any = None  # Who overrides asks the forge for nothing.
    requirements = ApplyRequirements(nothing_is_asked, wires.pull_requests)
    decider = RequirementsDecider(wires.deployments, requirements, wires.workflows, wires.announcements, wires.audit)
    at, reason = wires.clock.now(), "It is an exercise."
    decision = decider.decide(deployment.id, GateAnswer.OVERRIDE, "operator", at, reason)
    assert decision.done, decision.reason


def refuses(step: str, pattern: str, how: dict[str, Any] | None = None, times: int | None = None) -> Faults:
    """AWS refuses to invoke a step's function for this deployment. ``{id}`` and ``{queue}`` stand in the pattern."""

    def faults(root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
        text = pattern.replace("{id}", deployment.id).replace("{queue}", f'{root.queue}"')
        return [invokes(step, text, how or FOR_GOOD, times)]

    return faults


def stumbles(*steps: str) -> Faults:
    """The function of each step is throttled once, and once more cannot reach its table."""

    def faults(root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
        return [fault for step in steps for fault in stumbling(step, root, deployment)]

    return faults


_BY_QUEUE = {"claim_deployment", "wait_for_signal", "close_worker", "hand_over_worker"}


def stumbling(step: str, root: RootInWorld, deployment: Deployment) -> list[dict[str, Any]]:
    return throttled_then_unavailable(step, f'{root.queue}"' if step in _BY_QUEUE else deployment.id)
