"""What the HTTP API tells of changes, as models: the API's description is generated from them."""

from __future__ import annotations

from pydantic import Field

from tidegate.deploys.rules.deployment import State
from tidegate.web.models import DependencyModel, DeploymentBrief, ReplacementModel, Shown


class MemberModel(DeploymentBrief):
    """A deployment as a part of its change."""

    replaced_by: ReplacementModel | None = Field(
        description="What is deployed of its changes, where it was not applied itself: it needs nobody any more"
    )
    why: str = Field(description="Why it is part of its change")
    gated_by: list[DependencyModel] = Field(description="What of its change it still waits for, or will")


class StackModel(Shown):
    """A stack of a change."""

    name: str
    tier: int = Field(description="From 1: how many stacks go before it, one after the other, and itself")
    state: State = Field(description="The one of its members' that needs a person most")
    done: int = Field(description="Members that are applied, or had nothing to change")
    plan_after: list[str] = Field(description="Stacks right before it: it is planned after these are applied")
    apply_after: list[str] = Field(description="Stacks right before it: it is applied after these are")
    members: list[MemberModel]


class ChangeModel(Shown):
    """The deployments of one change: the newest of each root in each stack."""

    id: str
    repository: str
    revision: str
    branch: str
    pull_request: int | None
    layers: int
    stacks: list[StackModel] = Field(description="By tier and name")
    left_out: int = Field(description="Members that are too many to be listed")
    url: str = Field(description="Its page")
