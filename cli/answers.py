"""What the HTTP API answers, as far as the command line uses it.

Fields that are not named here are ignored and words that are not known are shown as they are: a newer
server can be asked by an older command line.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Me(_Answer):
    """Who asks."""

    login: str


class Repository(_Answer):
    """A repository that Tidegate knows."""

    name: str
    default_branch: str = ""
    url: str = ""


class Repositories(_Answer):
    """All repositories that one may read."""

    repositories: list[Repository]


class Lock(_Answer):
    """Who holds merges back, since when (ISO 8601 in UTC), with which revision, and why."""

    by: str
    at: str
    revision: str
    reason: str
    deployment: str = ""


class Changes(_Answer):
    """What a plan changes; a replacement counts once, as a replacement."""

    add: int = 0
    change: int = 0
    destroy: int = 0
    replace: int = 0
    outputs: int = 0
    moved: int = 0
    actions: int = 0
    deferred: int = 0
    destroyed: list[str] = []
    replaced: list[str] = []


class Brief(_Answer):
    """A deployment as lists show it. ``changes`` is None until it is planned; ``url`` is its page."""

    id: str
    repository: str
    root: str
    revision: str
    branch: str
    trigger: str
    requested_by: str
    requested_at: str
    state: str
    reason: str = ""
    error: str = ""
    changed_at: str = ""
    changes: Changes | None = None
    pull_request: int | None = None
    forced: bool = False
    rerun_of: str | None = None
    stack: str = "default"
    within: list[str] = []
    change_set: str | None = None
    layer: int = 1
    url: str = ""


class Awaited(_Answer):
    """A deployment of the same change that goes first, before the ``plan`` or the ``apply``."""

    deployment: str
    root: str
    stack: str
    state: str
    before: str = "apply"


class Member(Brief):
    """A deployment as a part of its change, and what it still waits for."""

    why: str = ""
    gated_by: list[Awaited] = []


class Stack(_Answer):
    """A stack of a change. ``tier`` counts from 1; rules name the stacks right before it."""

    name: str
    tier: int = 1
    state: str
    done: int = 0
    plan_after: list[str] = []
    apply_after: list[str] = []
    members: list[Member] = []


class Change(_Answer):
    """A change: its stacks by tier and name."""

    id: str
    repository: str
    revision: str
    branch: str = ""
    pull_request: int | None = None
    stacks: list[Stack]
    left_out: int = 0
    url: str = ""


class Approval(_Answer):
    """One person's confirmation."""

    by: str
    at: str


class Review(_Answer):
    """A plan review and its answers so far; ``approved`` is None while it is open."""

    asked_at: str = ""
    approved: bool | None = None
    by: str | None = None
    at: str | None = None
    approvals: list[Approval] = []


class ReviewRule(_Answer):
    """How many people must confirm a plan, and whether those who made the change count."""

    approvals: int = 1
    exclude_authors: bool = False


class Step(_Answer):
    """One line of a timeline."""

    state: str
    at: str
    by: str = ""
    reason: str = ""


class JobLink(_Answer):
    """A job of a deployment; ``url`` is the page of its log."""

    id: str
    kind: str
    url: str = ""


class Deployment(Brief):
    """Everything about a deployment that the command line shows."""

    authors: list[str] = []
    must_review: str | None = None
    plan_digest: str | None = None
    engine_version: str | None = None
    review: Review | None = None
    review_rule: ReviewRule = ReviewRule()
    jobs: list[JobLink] = []
    history: list[Step] = []
    last_lines: str = ""
    check_run_url: str | None = None
    execution_url: str | None = None
    why: str = ""
    layers: int = 1
    gated_by: list[Awaited] = []


class Deployments(_Answer):
    """Deployments, newest first; ``next`` asks for those before them."""

    deployments: list[Brief]
    next: str | None = None


class Root(_Answer):
    """A root with the state of its queue; ``waiting`` is how many wait, ``last`` the last that was let in and ended."""

    name: str
    deployed_revision: str | None = None
    deployed_by: str | None = None
    lock: Lock | None = None
    running: Brief | None = None
    last: Brief | None = None
    waiting: int = 0
    url: str = ""


class Roots(_Answer):
    """The roots of a repository."""

    repository: str
    roots: list[Root]


class Place(_Answer):
    """A deployment in line; the first has place 1."""

    place: int
    id: str
    revision: str
    trigger: str
    requested_at: str
    requested_by: str | None = None
    url: str = ""


class Queue(_Answer):
    """A root's queue: what runs, what waits (first first), and what holds it back."""

    repository: str
    root: str
    lock: Lock | None = None
    deployed_revision: str | None = None
    running: Brief | None = None
    waiting: list[Place] = []


class Unlocked(_Answer):
    """Whether there was a lock to take away, and what came of it, in words."""

    unlocked: bool
    message: str = ""


class Decided(_Answer):
    """What came of an answer to a review, in words, and the deployment after it."""

    message: str
    deployment: Brief


class Accepted(_Answer):
    """An order that is worked on; ask for the request by its id."""

    request: str


class Request(_Answer):
    """What came of a request; ``outcome`` is None until it is known."""

    request: str
    outcome: str | None = None
    deployments: list[Brief] = []


class Job(_Answer):
    """One run of the engine, and what there is of its log: waiting, running, ended or lost."""

    id: str
    deployment: str
    kind: str
    attempt: int = 1
    state: str = ""
    url: str = ""


class Log(_Answer):
    """Lines of a log, the position after them, and whether there will be no more."""

    lines: list[str]
    next: int
    ended: bool
    state: str = ""


class Finding(_Answer):
    """One result of one rule of a policy set."""

    severity: str
    rule: str = ""
    message: str = ""
    address: str = ""
    exempted_by: str = ""


class Verdict(_Answer):
    """What a policy set says of a plan."""

    policy_set: str
    failed: bool
    error: str = ""
    findings: list[Finding] = []


class Layer(_Answer):
    """A root, in one stack, that a pull request affects."""

    id: str
    root: str
    stack: str = "default"
    state: str
    reason: str = ""
    why: str = ""
    tier: int = 1
    changes: Changes | None = None
    policies: list[Verdict] = []
    last_lines: str = ""
    job: JobLink | None = None


class Condition(_Answer):
    """A condition of a pull request, in the Kubernetes form."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    lastTransitionTime: str = ""  # noqa: N815  # Kubernetes' word.


class PullVerdict(_Answer):
    """What the check run of the whole says of a pull request."""

    conclusion: str
    kind: str = ""
    title: str = ""
    blocking: list[str] = []


class PullPolicySet(_Answer):
    """A policy set that refuses plans of a pull request."""

    name: str
    owners: list[str] = []
    approvals: int = 1
    blocking: bool = True


class PullBrief(_Answer):
    """A pull request as lists show it."""

    repository: str
    number: int
    title: str = ""
    author: str = ""
    branch: str = ""
    base: str = ""
    revision: str = ""
    state: str
    verdict: PullVerdict | None = None
    outdated: bool = False
    draft: bool = False
    from_fork: bool = False
    opened_at: str = ""
    closed_at: str | None = None
    merged: bool = False
    notice: str = ""
    url: str = ""
    forge_url: str | None = None


class Pulls(_Answer):
    """Open pull requests, newest first."""

    pull_requests: list[PullBrief]
    unchecked: int = 0


class Pull(PullBrief):
    """A pull request with its conditions and layers."""

    base_revision: str = ""
    conditions: list[Condition] = []
    layers: list[Layer] = []
    policy_sets: list[PullPolicySet] = []


class DriftFinding(_Answer):
    """How a root, in one stack, stands."""

    root: str
    stack: str = "default"
    state: str
    reason: str = ""
    drifted_since: str | None = None
    changes: Changes | None = None
    deployment: str | None = None
    undoing: str | None = None
    job: JobLink | None = None


class DriftSchedule(_Answer):
    """A schedule of a repository, and what its last run found."""

    repository: str
    schedule: str
    when: str = ""
    tag_query: str = ""
    reconcile: bool = False
    report: str = ""
    problem: str = ""
    running: bool = False
    looked_at: str | None = None
    revision: str | None = None
    notice: str = ""
    roots: list[DriftFinding] = []
    issue_url: str | None = None


class Drift(_Answer):
    """Schedules that look for drift, by repository."""

    schedules: list[DriftSchedule]
    unchecked: int = 0
