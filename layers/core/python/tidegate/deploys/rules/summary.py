"""A deployment as lists show it: all but what only its own page has room for."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from tidegate.changes.rules.stack import DEFAULT_STACK
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment, Review, State, Trigger
from tidegate.deploys.rules.origin import Destruction
from tidegate.plans.rules.plan import Plan
from tidegate.roots.rules.root import Revision, Root


@dataclass(frozen=True, slots=True)
class DeploymentSummary:
    """The fields of ``Deployment`` that lists need; each means what it means there."""

    id: str
    repository: str
    root: Root
    revision: Revision
    trigger: Trigger
    requested_by: str
    requested_at: str
    state: State = State.QUEUED
    reason: str = ""
    error: str = ""
    changed_at: str = ""
    plan: Plan | None = None
    review: Review | None = None
    apply_job: str | None = None
    pull_request: int | None = None
    forced: bool = False
    destroy: Destruction | None = None
    rerun_of: str | None = None
    stack: str = DEFAULT_STACK
    within: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    shared: bool = False
    change_set: str = ""
    layer: int = 1
    waits: Waits = field(default_factory=Waits)


def summary_of(deployment: Deployment) -> DeploymentSummary:
    """Return what lists show of ``deployment``."""
    return DeploymentSummary(**{each.name: getattr(deployment, each.name) for each in fields(DeploymentSummary)})
