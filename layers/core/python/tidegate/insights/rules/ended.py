"""What one ended deployment adds to the figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.runner_size import RunnerOffer
from tidegate.deploys.rules.state import FAILED, State

_TEAM = "team:"
#: Dollars of a vCPU and of a GB of memory in an hour of Fargate, in us-east-1 (https://aws.amazon.com/fargate/pricing/).
PRICES: Mapping[str, tuple[float, float]] = {"arm64": (0.03238, 0.00356), "x86_64": (0.04048, 0.004445)}


class Result(StrEnum):
    """How a deployment counts. Only the first three were attempted."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Ended:
    """An ended deployment: durations in seconds, None for what it did not have, and the cost in millionths of a dollar.

    ``lead`` is the time from the merge to the end of the apply, ``queue`` in its root's queue, ``review`` until a
    decision, ``run`` of plan and apply.
    """

    at: datetime
    root: str
    stack: str
    team: str
    result: Result
    lead: float | None
    queue: float | None
    review: float | None
    run: float | None
    cost: int


def ended(deployment: Deployment, offer: RunnerOffer) -> Ended:
    """Return what a deployment that has ended adds. ``offer`` has the size of usual runners."""
    at = deployment.changed_at or deployment.request.at
    result = _result(deployment)
    run = _spent(deployment, State.PLANNING, State.APPLYING)
    return Ended(
        at,
        deployment.root.name,
        deployment.stack,
        next((tag.removeprefix(_TEAM) for tag in deployment.tags if tag.startswith(_TEAM)), ""),
        result,
        _lead(deployment, at) if result is Result.APPLIED else None,
        _spent(deployment, State.QUEUED) if result is not Result.OTHER else None,
        _spent(deployment, State.AWAITING_REVIEW),
        run,
        _cost(deployment, run or 0, offer),
    )


def _result(deployment: Deployment) -> Result:
    """Return how it counts. A plan that policies refuse, and a merge that was applied before, were no attempts."""
    if deployment.state is State.APPLIED:
        return Result.APPLIED
    if deployment.state is State.NO_CHANGES and deployment.planned.job is not None:
        return Result.UNCHANGED
    if deployment.state in FAILED and deployment.error != POLICIES_REFUSED:
        return Result.FAILED
    return Result.OTHER


def _lead(deployment: Deployment, at: datetime) -> float | None:
    """Return the time since the merge, also over re-runs; None if no merge requested it."""
    request, rerun = deployment.request, deployment.rerun
    if request.trigger is Trigger.MERGE or (request.trigger is Trigger.RERUN and not rerun.manual):
        return (at - (rerun.first_requested_at or request.at)).total_seconds()
    return None


def _spent(deployment: Deployment, *states: State) -> float | None:
    """Return the time in these states, None if it was in none of them."""
    spent = [then.at - step.at for step, then in pairwise(deployment.history) if step.state in states]
    return sum(spent, timedelta()).total_seconds() if spent else None


def _cost(deployment: Deployment, seconds: float, offer: RunnerOffer) -> int:
    needs = deployment.settings.run.runner
    cpu = (needs.cpu if needs else 0) or offer.usual.cpu
    memory = (needs.memory if needs else 0) or offer.usual.memory
    of_cpu, of_memory = PRICES[offer.architecture]
    return round((cpu * of_cpu + memory * of_memory) / 1024 * seconds / 3600 * 1_000_000)
