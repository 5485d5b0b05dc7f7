"""What the HTTP API takes and gives, as its OpenAPI description says it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tidegate.domain.changes.gate import Point
from tidegate.domain.deploys.deployment import State, Trigger
from tidegate.domain.deploys.job import JobKind
from tidegate.domain.deploys.locking import DURATION, LONGEST_REASON
from tidegate.domain.deploys.review_rule import PlanReview
from tidegate.domain.root import MAXIMUM_PATH, MAXIMUM_REPOSITORY, MAXIMUM_ROOT_NAME
from tidegate.domain.tags.words import MAXIMUM_LENGTH
from tidegate.usecases.deploys.read_log import LogState

#: A part of a repository's name: neither ``.`` nor ``..``, which are directories.
_PART = r"\.{0,2}[A-Za-z0-9_-][A-Za-z0-9_.-]{0,97}"
#: A repository's name; what stands before its last part, in a path with colons between; and the last part.
REPOSITORY = rf"^{_PART}(/{_PART}){{1,20}}$"
OWNER = rf"^{_PART}(:{_PART}){{0,19}}$"
LAST_PART = rf"^{_PART}$"
#: It leaves room for a slash and the longest last part.
MAXIMUM_OWNER = MAXIMUM_REPOSITORY - 101
RepositoryName = Annotated[
    str,
    Field(pattern=REPOSITORY, max_length=MAXIMUM_REPOSITORY, description="owner/name, or group/subgroup/name"),
]
RootName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$",
        max_length=MAXIMUM_ROOT_NAME,
        description="The root's name in tidegate.yaml",
    ),
]
_Directory = Annotated[str, Field(min_length=1, max_length=MAXIMUM_PATH)]
Duration = Annotated[
    str,
    Field(pattern=rf"^({DURATION})?$", description="How long, such as `90m`, `2h`, `3d`; without it until unlocked"),
]
Moment = Annotated[str, Field(description="ISO 8601 in UTC", examples=["2026-03-02T09:00:00.000000+00:00"])]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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


class AwaitedModel(Shown):
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
    approved_here: list[ApprovalModel] = Field(description="Who approved the deployment itself")
    override: OverrideModel | None = Field(description="Who passed over what was missing, and why")


class DeploymentDetails(DeploymentBrief):
    """Everything about a deployment."""

    replaced_by: ReplacementModel | None = Field(
        description="What is deployed of its changes, where it was not applied itself: it needs nobody any more"
    )

    destroy: bool = Field(default=False, description="It destroys what the root made, in place of deploying it")
    why: str = Field(description="Why it is part of its change")
    layers: int = Field(description="How many layers its change has")
    gated_by: list[AwaitedModel] = Field(description="What of its change it still waits for, or will")

    workspace: str
    directory: str
    authors: list[str]
    must_review: str | None
    plan_digest: str | None = Field(description="The SHA-256 of the plan file")
    engine_version: str | None
    review: ReviewModel | None
    review_rule: ReviewRuleModel
    requirements: RequirementsModel
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
    url: str


class QueueModel(Shown):
    """A root's queue as it is now."""

    repository: str
    root: str
    lock: LockModel | None
    deployed_revision: str | None
    running: DeploymentBrief | None
    waiting: list[PlaceModel]


class QueueName(_Given):
    """Which queue."""

    repository: RepositoryName
    root: RootName


class ScheduleName(_Given):
    """Which schedule that looks for drift."""

    repository: RepositoryName
    schedule: str = Field(min_length=1, max_length=200, description="Its name in tidegate.yaml")


class LockRequest(QueueName):
    """Which queue, and why merges are to wait."""

    reason: str = Field(default="", max_length=LONGEST_REASON, description="Shown wherever the lock is")
    duration: Duration = ""


class LockScope(_Given):
    """What is locked at once: a stack, or all roots of a repository."""

    repository: RepositoryName
    stack: str = Field(default="", max_length=100, description="The stack, or a nest; without it, all roots")


class ScopedLockRequest(LockScope):
    """What is to be locked, why, and for how long."""

    reason: str = Field(default="", max_length=LONGEST_REASON, description="Shown wherever the lock is")
    duration: Duration = ""


class Locked(Shown):
    """What came of it."""

    message: str


class Unlocked(Shown):
    """What came of it."""

    unlocked: bool = Field(description="False when there was no lock")
    message: str


class ReviewAnswer(_Given):
    """An answer to a plan review."""

    decision: Literal["approve", "reject"]
    plan_digest: str = Field(
        default="", max_length=64, description="The `plan_digest` of the deployment as you saw it; an approval needs it"
    )


class Decided(Shown):
    """What came of it."""

    message: str
    deployment: DeploymentBrief


class GateAnswer(_Given):
    """What is to become of a deployment that waits for others, or for what is required of it."""

    decision: Literal["retry", "reject", "approve", "override"]
    reason: str = Field(default="", max_length=500, description="Why what is required is overridden, for the audit")


class CancelRequest(_Given):
    """Cancel a deployment."""

    apply: bool = Field(
        default=False,
        description="Also while it is applied: the engine is interrupted, and the state may be partly changed",
    )


class DeployRequest(_Given):
    """Deploy the default branch's head to roots (by name, directory, or tag query), or destroy what they made."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["roots"]}, {"required": ["directories"]}, {"required": ["query"]}],
            "not": {
                "required": ["destroy"],
                "properties": {"destroy": {"const": True}},
                "anyOf": [{"required": ["directories"]}, {"required": ["query"]}],
            },
        }
    )

    repository: RepositoryName
    roots: Annotated[tuple[RootName, ...], Field(min_length=1, max_length=50)] = ()
    directories: Annotated[tuple[_Directory, ...], Field(min_length=1, max_length=50)] = Field(
        default=(), description="All roots in these directories and below"
    )
    query: str = Field(
        default="",
        pattern=r"\S",
        max_length=MAXIMUM_LENGTH,
        description="All roots, in the stacks, that match this tag query",
    )
    force: bool = Field(default=False, description="Also where the same is in line by hand already, at the same commit")
    destroy: bool = Field(
        default=False,
        description="Destroy what these roots made, which the default branch does not have any more; always reviewed",
    )

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        if not (self.roots or self.directories or self.query):
            raise ValueError("Name roots, directories or a query.")
        if self.destroy and {"directories", "query"} & self.model_fields_set:
            raise ValueError("What is destroyed is named root by root.")
        return self


class Accepted(Shown):
    """The request is stored; what came of it is at `/api/requests/{request}`."""

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
