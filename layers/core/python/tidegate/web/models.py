"""What the HTTP API gives, as its OpenAPI description says it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tidegate.deploys.read_log import LogState
from tidegate.deploys.rules.deployment import State, Trigger
from tidegate.deploys.rules.gate import Point
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.review_rule import PlanReview

Moment = Annotated[str, Field(description="ISO 8601 in UTC", examples=["2026-03-02T09:00:00.000000+00:00"])]


class Shown(BaseModel):
    """What is answered."""

    model_config = ConfigDict(frozen=True)


class Problem(Shown):
    """Why a request was refused."""

    code: str = Field(description="A word for programs", examples=["not_found"])
    message: str = Field(description="What happened and what to do next, for people")


class Refused(Shown):
    """Every answer that is not a success."""

    error: Problem


class Me(Shown):
    """Who the token belongs to."""

    login: str


class RepositoryModel(Shown):
    """A repository that Tidegate works for."""

    name: str
    default_branch: str
    url: str = Field(description="Its page")


class Repositories(Shown):
    """The repositories that you may read, by name."""

    repositories: list[RepositoryModel]
    unchecked: int = Field(
        default=0, description="Repositories that may be missing: the forge is asked about 60 a minute; ask again then"
    )


class LockModel(Shown):
    """Why merges wait."""

    by: str
    at: Moment
    revision: str
    reason: str
    deployment: str
    expires_at: str | None = Field(default=None, description="When it ends by itself (ISO 8601 in UTC); null: never")
    scope: str | None = Field(default=None, description="The locked stack, or `*` for all roots; null: one root")


class Changes(Shown):
    """What a plan changes. A replacement counts once, as a replacement."""

    add: int
    change: int
    destroy: int
    replace: int
    outputs: int
    moved: int
    actions: int
    deferred: int
    destroyed: list[str] = Field(description="The first addresses of what is destroyed")
    replaced: list[str] = Field(description="The first addresses of what is replaced")


class DeploymentBrief(Shown):
    """A deployment as lists show it."""

    id: str
    repository: str
    root: str
    revision: str
    branch: str
    trigger: Trigger
    requested_by: str
    requested_at: Moment
    state: State
    reason: str
    error: str = Field(description="The name of what it failed with, if it failed")
    changed_at: str
    changes: Changes | None = Field(description="None until it is planned")
    pull_request: int | None
    pull_request_reference: str | None = Field(description="Its number as the forge's people write it: `#12`, `!12`")
    forced: bool
    destroy: bool = Field(default=False, description="It destroys what the root made, in place of deploying it")
    rerun_of: str | None
    stack: str = Field(description="The stack that it belongs to")
    within: list[str] = Field(description="The nests around its stack")
    tags: list[str] = Field(description="The root's own tags, as the file had them")
    change_set: str | None = Field(description="The change that it belongs to, with other roots and stacks")
    layer: int = Field(description="Its layer in its stack's part of the change, from 1")
    url: str = Field(description="Its page")


class ApprovalModel(Shown):
    """One person's confirmation."""

    by: str
    at: Moment


class ReviewModel(Shown):
    """The review of a plan."""

    asked_at: Moment
    expires_at: Moment = Field(description="ISO 8601 in UTC; nothing is applied after that")
    approved: bool | None = Field(description="None while it is open")
    by: str | None
    at: str | None
    approvals: list[ApprovalModel]


class ReviewRuleModel(Shown):
    """Which plans of the root wait, and for whom."""

    when: PlanReview
    approvals: int
    exclude_authors: bool
    excluded: list[str] = Field(description="Who is known not to count, if authors are excluded")


class StepModel(Shown):
    """A line of the timeline."""

    state: State
    at: Moment
    by: str
    reason: str


class AuditedModel(Shown):
    """A message that the audit topic took."""

    event: str
    state: str
    at: Moment


class JobLink(Shown):
    """A job of a deployment."""

    id: str
    kind: JobKind
    attempt: int
    url: str = Field(description="The page of its log")


class DependencyModel(Shown):
    """A deployment of the same change that goes first and is not done."""

    deployment: str = Field(description="Its id")
    root: str
    stack: str
    state: State
    before: Point = Field(description="What must not happen before it is done")
    url: str = Field(description="Its page")


class ReplacementModel(Shown):
    """A deployment of a newer revision that contains another one, and is applied."""

    deployment: str = Field(description="Its id")
    revision: str
    url: str = Field(description="Its page")


class OverrideModel(Shown):
    """An operator's word that a deployment is applied whatever is missing."""

    by: str
    at: str
    reason: str


class RequirementsModel(Shown):
    """What a root requires before an apply, as far as it was looked at."""

    missing: list[str] = Field(description="What was missing last, in sentences")
    approvable: bool = Field(description="Whether an approval of the deployment itself may count: not in a freeze")
    approved_here: list[ApprovalModel] = Field(description="Who approved the deployment itself")
    override: OverrideModel | None = Field(description="Who passed over what was missing, and why")


class SlotModel(Shown):
    """Why no runner starts for a deployment yet."""

    since: Moment
    busy: int = Field(description="Runners that are busy")
    limit: int = Field(description="Runners that the installation may have at a time (`runner_slots`)")
    position: int = Field(description="Its position among those who wait, from 1; 0: it has just got a slot")
    reason: str = Field(description="The same as a sentence, for people")


class DeploymentDetails(DeploymentBrief):
    """Everything about a deployment."""

    replaced_by: ReplacementModel | None = Field(
        description="What is deployed of its changes, where it was not applied itself: it needs nobody any more"
    )

    why: str = Field(description="Why it is part of its change")
    layers: int = Field(description="How many layers its change has")
    gated_by: list[DependencyModel] = Field(description="What of its change it still waits for, or will")

    workspace: str
    directory: str
    authors: list[str]
    must_review: str | None
    plan_digest: str | None = Field(description="The SHA-256 of the plan file")
    engine_version: str | None
    review: ReviewModel | None
    review_rule: ReviewRuleModel
    requirements: RequirementsModel
    slot: SlotModel | None = Field(default=None, description="Set while it waits for a concurrency slot")
    unlocked: ApprovalModel | None = Field(description="Who took away the lock that it had put on its queue")
    cancelled: ApprovalModel | None = Field(description="Who cancelled it, or interrupted its apply")
    jobs: list[JobLink]
    history: list[StepModel]
    audited: list[AuditedModel]
    last_lines: str = Field(description="The engine's last words, if it failed")
    check_run_url: str | None
    execution_url: str | None


class DeploymentsPage(Shown):
    """Deployments, newest first."""

    deployments: list[DeploymentBrief]
    next: str | None = Field(description="What to ask with as `after` for those before; null at the end")
    searched: int | None = Field(
        default=None,
        description="How many a search looked at, the newest before `after`; where `next` is not null, older ones are "
        "left to be searched",
    )
    hint: str = Field(default="", description="Of a search that finds nothing: which stack no deployment has")
    unsearched: int = Field(
        default=0, description="Repositories that a search of all left out: those in which nothing happened for longest"
    )


class OrphanedModel(Shown):
    """That a root is gone from the default branch, and what it made is not destroyed."""

    revision: str = Field(description="The commit without it")
    at: Moment
    resources: int | None = Field(description="How many there were after its last deployment; null: not known")


class RootModel(Shown):
    """A root and its queue."""

    name: str
    stacks: list[str] = Field(description="The stacks that it was deployed in last")
    tags: list[str] = Field(description="Its own tags, as of its last deployment")
    deployed_revision: str | None
    deployed_by: str | None = Field(description="The id of the deployment that revisions are compared with")
    lock: LockModel | None
    running: DeploymentBrief | None
    last: DeploymentBrief | None = Field(description="The last that was let in and ended")
    waiting: int
    destroyed: bool = Field(default=False, description="All that it made is destroyed: the root is archived")
    orphaned: OrphanedModel | None = Field(default=None, description="It is gone, and what it made stays behind")
    url: str = Field(description="The page of its queue")


class Roots(Shown):
    """The roots of a repository, by name."""

    repository: str
    roots: list[RootModel]
    locks: list[LockModel] = Field(default=[], description="Locks of stacks, and of all roots")
    hint: str = Field(default="", description="Of a search that finds nothing: which stack or tag no root has")


class PlaceModel(Shown):
    """One that waits in line."""

    place: int = Field(description="From 1")
    id: str
    revision: str
    trigger: Trigger
    requested_at: Moment
    requested_by: str | None
    destroy: bool = Field(default=False, description="It destroys what the root made")
    url: str


class QueueModel(Shown):
    """A root's queue as it is now."""

    repository: str
    root: str
    lock: LockModel | None
    deployed_revision: str | None
    destroyed: bool = Field(default=False, description="What was deployed last is destroyed")
    running: DeploymentBrief | None
    waiting: list[PlaceModel]


class Locked(Shown):
    """What came of it."""

    message: str


class Unlocked(Shown):
    """What came of it."""

    unlocked: bool = Field(description="False when there was no lock")
    message: str


class Decided(Shown):
    """What came of it."""

    message: str
    deployment: DeploymentBrief


class Accepted(Shown):
    """The request is stored; what came of it is at `/api/v1/requests/{request}`."""

    request: str


class RequestOutcome(Shown):
    """What came of a request."""

    request: str
    outcome: str | None = Field(description="null while it is worked on")
    deployments: list[DeploymentBrief] = Field(
        description="Those that it put in line; or, where it put none there as the same was in line, those that were"
    )


class JobModel(Shown):
    """A job and its log."""

    id: str
    deployment: str = Field(description="The deployment that it is a job of, or the layer of a pull request")
    repository: str
    kind: JobKind
    attempt: int
    state: LogState
    url: str = Field(description="The page of its log")


class LogLines(Shown):
    """Lines of a log, as the runner wrote them: with escape sequences."""

    state: LogState
    lines: list[str]
    next: int = Field(description="What to ask for next")
    ended: bool = Field(description="Nothing follows")
