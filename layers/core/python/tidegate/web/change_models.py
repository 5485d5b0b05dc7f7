"""What the HTTP API tells of changes, as models: the API's description is generated from them."""

from __future__ import annotations

from pydantic import Field

from tidegate.deploys.rules.state import State
from tidegate.web.models import DependencyModel, DeploymentBrief, Instant, ReplacementModel, Shown


class MemberModel(DeploymentBrief):
    """A deployment as a part of its change."""

    replaced_by: ReplacementModel | None = Field(
        description="The deployment that includes its changes, if it was not applied itself; it then needs no action"
    )
    why: str = Field(description="Why it is part of the change")
    gated_by: list[DependencyModel] = Field(
        description="The deployments of its change that it waits for, now or later: failed ones first, at most 20"
    )
    gated_by_left_out: int = Field(default=0, description="How many more it waits for; its own details have all")


class WaveDecisionModel(Shown):
    """What somebody decided about a stack's rollout."""

    by: str
    at: Instant
    reason: str


class WaveModel(Shown):
    """How a stack is rolled out in this change."""

    max_concurrent: int | None = Field(description="How many of its deployments are applied at the same time")
    stop_on_failures: int | None = Field(description="After how many failures no further apply begins")
    held: bool = Field(description="Whether failures hold it back until somebody retries, continues or rejects")
    failed: list[str] = Field(description="The roots whose failures count")
    continued: WaveDecisionModel | None = Field(description="Who let it continue in spite of failures, last")
    stopped: WaveDecisionModel | None = Field(description="Who stopped it")


class StackModel(Shown):
    """A stack of a change."""

    name: str
    tier: int = Field(description="Its position in the order of stacks, from 1")
    state: State = Field(description="The most urgent state of its members")
    done: int = Field(description="How many members are applied or had nothing to change")
    running: int = Field(description="How many members are being applied")
    waiting: int = Field(description="How many members have neither begun their applies nor ended")
    failed: int = Field(description="How many members failed, or have an unknown outcome")
    given_up: int = Field(default=0, description="How many members were rejected, cancelled, refused, or expired")
    wave: WaveModel | None = Field(description="How it is rolled out; null without rules for that")
    plan_after: list[str] = Field(description="Direct dependencies: it is planned after these stacks are applied")
    apply_after: list[str] = Field(description="Direct dependencies: it is applied after these stacks are applied")
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
    left_out: int = Field(description="How many members are left out of the list")
    url: str = Field(description="The URL of its page")
