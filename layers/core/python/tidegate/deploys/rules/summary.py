"""A deployment in lists: all fields but those that only its own page shows."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import datetime

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.membership import Membership
from tidegate.deploys.rules.planned import ApplyJob, Planned
from tidegate.deploys.rules.request import DeploymentRequest, Rerun
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Review
from tidegate.roots.rules.root import Revision, Root


@dataclass(frozen=True, slots=True)
class DeploymentSummary:
    """The fields of ``Deployment`` for lists, with the same meaning."""

    id: str
    repository: str
    root: Root
    revision: Revision
    request: DeploymentRequest
    stack: str = DEFAULT_STACK
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    shared: bool = False
    state: State = State.QUEUED
    reason: str = ""
    error: str = ""
    changed_at: datetime | None = None
    rerun: Rerun = field(default_factory=Rerun)
    change: Membership = field(default_factory=Membership)
    planned: Planned = field(default_factory=Planned)
    review: Review | None = None
    apply: ApplyJob = field(default_factory=ApplyJob)


def summary_of(deployment: Deployment) -> DeploymentSummary:
    """Return what lists show of ``deployment``."""
    return DeploymentSummary(**{each.name: getattr(deployment, each.name) for each in fields(DeploymentSummary)})
