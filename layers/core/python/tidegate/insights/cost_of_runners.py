"""Read what the runners of a deployment cost."""

from __future__ import annotations

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.plan_runner import PlanRunner
from tidegate.deploys.rules.run_cost import RunCost, run_cost
from tidegate.ports import Ports
from tidegate.rules.errors import NotFound


def cost_of_runners(ports: Ports, deployment: Deployment) -> RunCost:
    """Return what they cost so far. If plans start on Lambda, the newest plan's job tells where that was."""
    memory = ports.plan_runner.memory if _was_on_lambda(ports, deployment.planned.job) else 0
    return run_cost(deployment, ports.runner_offer, memory)


def _was_on_lambda(ports: Ports, job: str | None) -> bool:
    if not ports.plan_runner.function or job is None:
        return False
    try:
        return ports.jobs.get(job).runner is PlanRunner.LAMBDA
    except NotFound:
        return False
