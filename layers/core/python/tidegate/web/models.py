"""What the HTTP API gives, as its OpenAPI description says it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from tidegate.deploys.read_log import LogState
from tidegate.deploys.rules.gate import Point
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview
from tidegate.deploys.rules.state import State
from tidegate.rules.timestamp import timestamp_from, timestamp_text

Instant = Annotated[datetime, BeforeValidator(timestamp_from), PlainSerializer(timestamp_text, return_type=str)]
Timestamp = Annotated[Instant, Field(description="ISO 8601 in UTC", examples=["2026-03-02T09:00:00.000000+00:00"])]


def _or_none(value: str | datetime | None) -> datetime | None:
    return timestamp_from(value) if value else None


def _or_empty(at: datetime | None) -> str:
    return timestamp_text(at) if at else ""


class Shown(BaseModel):
    """What is answered."""

    model_config = ConfigDict(frozen=True)


class Problem(Shown):
    """Why a request was refused."""

    code: str = Field(description="A machine-readable code", examples=["not_found"])
    message: str = Field(description="What happened and what to do next, as text")


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
    url: str = Field(description="The URL of its page")


class Repositories(Shown):
    """The repositories that you may read, by name."""

    repositories: list[RepositoryModel]
    unchecked: int = Field(
        default=0, description="How many repositories are not checked yet (60 per minute are); ask again in a minute"
    )


class LockModel(Shown):
    """Why merges wait."""

    by: str
    at: Timestamp
    revision: str
    reason: str
    deployment: str
    expires_at: Instant | None = Field(default=None, description="When it expires (ISO 8601 in UTC); null: never")
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
    destroyed: list[str] = Field(description="The first addresses of destroyed resources")
    replaced: list[str] = Field(description="The first addresses of replaced resources")


class ResourceCostModel(Shown):
    """What a resource's cost of a month changes by."""

    address: str
    difference: str = Field(description="A decimal number, such as `-3.10`")


class CostModel(Shown):
    """What a plan changes of a month's cost, as Infracost estimates. With a `problem`, it is not known."""

    currency: str = Field(description="A code of ISO 4217, such as `USD`")
    monthly: str = Field(description="What all resources of the root cost in a month after the apply: a decimal number")
    difference: str = Field(description="By how much the plan changes that: a decimal number")
    resources: list[ResourceCostModel] = Field(description="Those whose cost changes most")
    more: int = Field(description="How many others change")
    unsupported: int = Field(description="How many resources have no known price, and are not in it")
    problem: str = Field(description="Why it is not known; empty if it is")


class HeadlineModel(Shown):
    """What a change is, in words. What the VCS provider did not tell is empty."""

    title: str = Field(description="The first line of the commit's message")
    author: str = Field(description="Who made the change: the author of the pull request, or else of the commit")
    avatar: str = Field(description="The URL of the author's picture")
    pull_request: int | None = Field(description="The pull request that it came with")
    pull_request_title: str


class DeploymentBrief(Shown):
    """A deployment as lists show it."""

    id: str
    repository: str
    root: str
    revision: str
    branch: str
    trigger: Trigger
    requested_by: str
    requested_at: Timestamp
    state: State
    reason: str
    error: str = Field(description="The error's name, if it failed")
    changed_at: Annotated[datetime | None, BeforeValidator(_or_none), PlainSerializer(_or_empty, return_type=str)]
    changes: Changes | None = Field(description="null until it is planned")
    cost: CostModel | None = Field(default=None, description="What the plan costs; null if no step states it")
    pull_request: int | None
    pull_request_reference: str | None = Field(
        description="The number of its pull request, or of the one that it came with, as the VCS provider shows it: "
        "`#12`, `!12`"
    )
    headline: HeadlineModel | None = Field(
        default=None, description="What the change is; null if the VCS provider did not tell"
    )
    forced: bool
    destroy: bool = Field(default=False, description="Whether it destroys the root's resources instead of deploying it")
    rerun_of: str | None
    stack: str = Field(description="Its stack")
    within: list[str] = Field(description="The stack groups that contain its stack")
    tags: list[str] = Field(description="The root's own tags, as the file had them")
    change_set: str | None = Field(description="The change that it belongs to")
    layer: int = Field(description="Its layer within its stack, from 1: later layers wait for earlier ones")
    url: str = Field(description="The URL of its page")


class ApprovalModel(Shown):
    """One person's approval."""

    by: str
    at: Timestamp
    reason: str = ""


class ReviewModel(Shown):
    """The review of a plan."""

    asked_at: Timestamp
    expires_at: Timestamp = Field(description="ISO 8601 in UTC; after that, the plan is not applied")
    approved: bool | None = Field(description="null while it is open")
    by: str | None
    at: Instant | None
    reason: str = Field(default="", description="The reason of who decided, if they gave one")
    approvals: list[ApprovalModel]


class ReviewRuleModel(Shown):
    """Which plans of the root wait, and for whom."""

    when: PlanReview
    approvals: int
    exclude_authors: bool
    excluded: list[str] = Field(description="Whose approvals do not count, if authors are excluded")


class StepModel(Shown):
    """A line of the timeline."""

    state: State
    at: Timestamp
    by: str
    reason: str


class AuditedModel(Shown):
    """A message that the audit topic took."""

    event: str
    state: str
    at: Timestamp


class JobLink(Shown):
    """A job of a deployment."""

    id: str
    kind: JobKind
    attempt: int
    url: str = Field(description="The URL of its log's page")


class DependencyModel(Shown):
    """A deployment of the same change that goes first and is not done."""

    deployment: str = Field(description="The id")
    root: str
    stack: str
    state: State
    before: Point = Field(description="What waits for it: the plan or the apply")
    url: str = Field(description="The URL of its page")


class ReplacementModel(Shown):
    """A deployment of a newer revision that contains another one, and is applied."""

    deployment: str = Field(description="The id")
    revision: str
    url: str = Field(description="The URL of its page")


class OverrideModel(Shown):
    """An operator's word that a deployment is applied whatever is missing."""

    by: str
    at: Instant
    reason: str


class RequirementsModel(Shown):
    """What a root requires before an apply, as far as it was checked."""

    missing: list[str] = Field(description="What was missing at the last check, as sentences")
    approvable: bool = Field(description="Whether approving the deployment itself can help; false in a freeze")
    approved_here: list[ApprovalModel] = Field(description="Who approved the deployment itself")
    override: OverrideModel | None = Field(description="Who overrode the requirements, and why")


class SlotModel(Shown):
    """Why no runner starts for a deployment yet."""

    since: Timestamp
    busy: int = Field(description="How many runners are busy")
    limit: int = Field(description="How many runners the installation may run concurrently (`runner_slots`)")
    position: int = Field(description="Its position among waiting jobs, from 1; 0: it just got a slot")
    reason: str = Field(description="The same, as text")


class DeploymentDetails(DeploymentBrief):
    """Everything about a deployment."""

    replaced_by: ReplacementModel | None = Field(
        description="The deployment that includes its changes, if it was not applied itself; it then needs no action"
    )

    why: str = Field(description="Why it is part of the change")
    layers: int = Field(description="How many layers its change has")
    gated_by: list[DependencyModel] = Field(description="The deployments of its change that it waits for, now or later")

    workspace: str
    directory: str
    authors: list[str]
    must_review: str | None
    policies_refuse: list[str] = Field(
        default=[], description="What policies say against its plan, and who can approve it before the apply"
    )
    plan_digest: str | None = Field(description="The SHA-256 of the plan file")
    asks_twice: bool = Field(
        default=False,
        description="Whether to approve the plan, `destroys` must confirm that it destroys resources: its stack is "
        "protected",
    )
    engine_version: str | None
    review: ReviewModel | None
    review_rule: ReviewRuleModel
    requirements: RequirementsModel
    slot: SlotModel | None = Field(default=None, description="Set while it waits for a concurrency slot")
    unlocked: ApprovalModel | None = Field(description="Who removed the lock that it put on its queue")
    cancelled: ApprovalModel | None = Field(description="Who cancelled it, or interrupted its apply")
    jobs: list[JobLink]
    history: list[StepModel]
    audited: list[AuditedModel]
    last_lines: str = Field(description="The last lines of the engine's output, if it failed")
    check_run_url: str | None
    execution_url: str | None


class DeploymentsPage(Shown):
    """Deployments, newest first."""

    deployments: list[DeploymentBrief]
    next: str | None = Field(description="The value of `after` for the next (older) page; null at the end")
    searched: int | None = Field(
        default=None,
        description="How many deployments were searched, the newest before `after`; if `next` is not null, there are "
        "older ones",
    )
    hint: str = Field(default="", description="If a search finds nothing: the stack that no deployment has")
    unsearched: int = Field(
        default=0, description="How many repositories a search of all left out: those that were inactive for longest"
    )


class OrphanedModel(Shown):
    """That a root is gone from the default branch, and what it made is not destroyed."""

    revision: str = Field(description="The last commit without the root")
    at: Timestamp
    resources: int | None = Field(description="How many resources its last deployment left; null: not known")


class RootModel(Shown):
    """A root and its queue."""

    name: str
    stacks: list[str] = Field(description="The stacks of its last deployment")
    tags: list[str] = Field(description="Its own tags, as of its last deployment")
    deployed_revision: str | None
    deployed_by: str | None = Field(description="The id of the deployment that new revisions are compared with")
    lock: LockModel | None
    running: DeploymentBrief | None
    last: DeploymentBrief | None = Field(description="The last deployment that started and ended")
    waiting: int
    destroyed: bool = Field(default=False, description="Whether all of its resources were destroyed")
    orphaned: OrphanedModel | None = Field(
        default=None, description="Set if the root no longer exists, but its resources do"
    )
    url: str = Field(description="The URL of its queue's page")


class Roots(Shown):
    """The roots of a repository, by name."""

    repository: str
    roots: list[RootModel]
    next: str | None = Field(default=None, description="`after` of the next page; null: there is none")
    locks: list[LockModel] = Field(default=[], description="Locks of stacks, and of all roots")
    hint: str = Field(default="", description="If a search finds nothing: the stack or tag that no root has")


class PlaceModel(Shown):
    """A waiting deployment."""

    place: int = Field(description="From 1")
    id: str
    revision: str
    trigger: Trigger
    requested_at: Timestamp
    requested_by: str | None
    destroy: bool = Field(default=False, description="Whether it destroys the root's resources")
    headline: HeadlineModel | None = Field(
        default=None, description="What the change is; null if the VCS provider did not tell"
    )
    url: str


class QueueModel(Shown):
    """A root's queue as it is now."""

    repository: str
    root: str
    lock: LockModel | None
    deployed_revision: str | None
    deployed_state: State | None = Field(
        default=None, description="How its deployment ended: what failed was attempted, and may be partly applied"
    )
    destroyed: bool = Field(default=False, description="Whether the last deployment was destroyed")
    running: DeploymentBrief | None
    waiting: list[PlaceModel]


class Locked(Shown):
    """What came of it."""

    message: str


class Unlocked(Shown):
    """What came of it."""

    unlocked: bool = Field(description="false if there was no lock")
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
    outcome: str | None = Field(description="null while it is in progress")
    deployments: list[DeploymentBrief] = Field(
        description="The deployments that it queued, or the equal ones that were already queued"
    )


class JobModel(Shown):
    """A job and its log."""

    id: str
    deployment: str = Field(
        description="The deployment that it is a job of, the layer of a pull request, or the replay"
    )
    repository: str
    kind: JobKind
    attempt: int
    state: LogState
    url: str = Field(description="The URL of its log's page")


class LogLines(Shown):
    """Lines of a log, as the runner wrote them: with escape sequences."""

    state: LogState
    lines: list[str]
    next: int = Field(description="The value of `after` for the next request")
    ended: bool = Field(description="Whether the log is complete")
