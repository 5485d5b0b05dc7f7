"""What the runners of a deployment cost, estimated from its timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.runner_size import RunnerOffer
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars in us-east-1: of a vCPU and of a GB of memory in an hour of Fargate, of a GB in a second of Lambda."""

    cpu: float
    memory: float
    on_lambda: float


#: Prices by architecture, as ``tidegate_cdk/prices.toml`` has them with their sources.
PRICES: Mapping[str, Prices] = {
    "arm64": Prices(0.03238, 0.00356, 0.0000133334),
    "x86_64": Prices(0.04048, 0.004445, 0.0000166667),
}
#: Dollars of a GB of disk in an hour of Fargate, and the GB that are free.
DISK_PRICE, FREE_DISK = 0.000111, 20
#: Seconds of a task that Fargate charges at least.
_LEAST = 60


@dataclass(frozen=True, slots=True)
class RunCost:
    """Seconds of plans and of the apply, None without one, and what their runners cost in millionths of a dollar."""

    plan: float | None
    apply: float | None
    cost: int


def run_cost(deployment: Deployment, offer: RunnerOffer, lambda_memory: int = 0) -> RunCost:
    """Return what a deployment's runners cost so far, with the waits for them.

    ``offer`` has the size of usual runners. ``lambda_memory`` is the memory in MB of the Lambda function that made its
    plan, 0 if Fargate did.
    """
    plan, applying = spent(deployment.history, State.PLANNING), spent(deployment.history, State.APPLYING)
    prices = PRICES[offer.architecture]
    needs, usual = deployment.settings.run.runner, offer.usual
    cpu, memory, disk = (
        (needs.cpu or usual.cpu, needs.memory or usual.memory, needs.disk or usual.disk)
        if needs
        else (usual.cpu, usual.memory, usual.disk)
    )
    hour = (cpu * prices.cpu + memory * prices.memory) / 1024 + max(0, disk - FREE_DISK) * DISK_PRICE
    tasks = [applying] if lambda_memory else [plan, applying]
    dollars = sum(max(_LEAST, each) for each in tasks if each is not None) * hour / 3600
    if lambda_memory:
        dollars += (plan or 0) * lambda_memory / 1024 * prices.on_lambda
    return RunCost(plan, applying, round(dollars * 1_000_000))


def spent(history: Sequence[Step], *states: State) -> float | None:
    """Return the seconds in these states, None if it was in none of them."""
    found = [then.at - step.at for step, then in pairwise(history) if step.state in states]
    return sum(found, timedelta()).total_seconds() if found else None
