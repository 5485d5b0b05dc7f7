"""What one ended deployment adds to the figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.policy_status import POLICIES_REFUSED
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.run_cost import RunCost, spent
from tidegate.deploys.rules.state import FAILED, State

_TEAM = "team:"


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
    decision, ``run`` of plan and apply. ``providers`` are the times of a successful apply.
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
    providers: tuple[ProviderTime, ...] = ()


def ended(deployment: Deployment, runners: RunCost) -> Ended:
    """Return what a deployment that has ended adds. ``runners`` are those of its plans and its apply."""
    at = deployment.changed_at or deployment.request.at
    result = _result(deployment)
    return Ended(
        at,
        deployment.root.name,
        deployment.stack,
        next((tag.removeprefix(_TEAM) for tag in deployment.tags if tag.startswith(_TEAM)), ""),
        result,
        _lead(deployment, at) if result is Result.APPLIED else None,
        spent(deployment.timeline, State.QUEUED) if result is not Result.OTHER else None,
        spent(deployment.timeline, State.AWAITING_REVIEW),
        spent(deployment.timeline, State.PLANNING, State.APPLYING),
        runners.cost,
        deployment.apply.providers,
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
