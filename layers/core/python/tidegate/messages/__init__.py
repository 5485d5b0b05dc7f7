"""Input and output of every task of the state machines: a Lambda's payload is one of these and its ``kind``.

The keys of each task's ``Payload`` in ``stepfunctions/*.asl.yaml`` are the input's fields, and a Choice reads only
fields of the previous output. A test checks that.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from tidegate.deploys.rules.job import Job, job_digest
from tidegate.deploys.rules.plan_runner import word_of
from tidegate.deploys.rules.provider_time import ProviderTime
from tidegate.deploys.rules.runner_size import DISPATCH_SECONDS
from tidegate.plans.rules.plan import Plan
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: Counts that a runner must report for a plan.
_COUNTS = frozenset({"add", "change", "destroy", "replace", "outputs", "moved"})


#: An instant, which is text in the message.
Timestamp = Annotated[
    datetime,
    BeforeValidator(timestamp_from, json_schema_input_type=str),
    PlainSerializer(timestamp_text, return_type=str),
]


class Message(BaseModel):
    """A message: unknown fields are refused, which reveals typos in state machines."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ClaimDeployment(Message):
    """Requests the worker's next step.

    ``rounds`` counts the claims of this execution so far; ``started`` is when it was started.
    """

    queue: str
    execution: str
    rounds: int = Field(ge=0)
    started: Timestamp


class Claimed(Message):
    """The worker's next step; ``deployment`` is set when the step is ``deploy``.

    ``version`` is the queue's version of this decision.
    """

    step: Literal["deploy", "wait", "hand over", "stop"]
    reason: str
    version: int
    deployment: str | None = None


class ValidateRevision(Message):
    """Asks whether a deployment's revision may follow the last deployed one."""

    queue: str
    deployment: str


class About(Message):
    """What an execution deploys, for the console: ``OWNER/REPO``, root, stack, commit."""

    repository: str
    root: str
    stack: str
    commit: str


class RevisionValidated(Message):
    """Whether the revision may be deployed, and why; ``waits`` tells that its plan waits for dependencies."""

    allowed: bool
    reason: str
    about: About
    waits: bool = False


class RecordOutcome(Message):
    """Ends a deployment in its queue. ``error`` is the Terraform machine's, if it failed."""

    queue: str
    deployment: str
    error: str | None = None


class OutcomeRecorded(Message):
    """The state in which the deployment ended."""

    state: str


class WaitForSignal(Message):
    """Stores a task token at the queue, to be settled when something arrives after ``version``."""

    queue: str
    execution: str
    version: int
    token: str


class CloseWorker(Message):
    """Closes the queue's worker, unless there is work."""

    queue: str
    execution: str


class WorkerClosed(Message):
    """Whether the worker was closed; if not, there is work."""

    closed: bool


class ContinueAsNew(Message):
    """Starts the next execution on this queue in place of ``execution``."""

    queue: str
    execution: str


class BeginJob(Message):
    """Begins a plan or an apply: creates the job and publishes the new state.

    ``attempt`` numbers the jobs of this phase, ``tries`` counts those of them that make the same plan.
    """

    deployment: str
    phase: Literal["plan", "apply"]
    attempt: int = Field(ge=1)
    tries: int = Field(default=1, ge=1)


class TaskSize(Message):
    """The size of a runner's task for ECS; ``seconds`` is its job's time limit, ``life`` its own."""

    cpu: str
    memory: str
    disk: int
    seconds: int = Field(ge=60)
    life: str


class ClusterWorkflow(Message):
    """The machine that applies a cluster's plan, by its name without the prefix, and what it takes of the plan."""

    machine: str
    plan: dict[str, Any]


class JobBegun(Message):
    """The created job: its id, its specification's digest, its task's size, and what runs it.

    ``cluster`` is the workflow of an apply of a cluster, for which no runner is started.
    """

    job: str
    digest: str
    size: TaskSize
    runner: Literal["fargate", "lambda"] = "fargate"
    cluster: ClusterWorkflow | None = None

    @classmethod
    def of(cls, job: Job, cluster: ClusterWorkflow | None = None) -> Self:
        size, seconds = job.size, job.seconds
        life = str(seconds + DISPATCH_SECONDS)
        task = TaskSize(cpu=str(size.cpu), memory=str(size.memory), disk=size.disk, seconds=seconds, life=life)
        return cls(job=job.id, digest=job_digest(job), size=task, runner=word_of(job.runner), cluster=cluster)


class StartOnLambda(Message):
    """Starts the runner of a plan on Lambda. ``function`` is its version's ARN, ``token`` waits for its start."""

    function: str
    job: str
    digest: str
    token: str


class DispatchJob(Message):
    """Stores the task token of the job's result for the runner. ``digest`` is that of the begun job."""

    job: str
    token: str
    digest: str = ""


class ApplyResult(Message):
    """The runner's result of a successful apply; ``last_lines`` end the engine's output.

    ``providers`` are how long the resources of each took.
    """

    job: str
    last_lines: str
    providers: tuple[ProviderTime, ...] = ()


def _with_counts(plan: object) -> object:
    """Refuse a plan without counts: an unreadable plan is never an empty one."""
    if isinstance(plan, dict) and _COUNTS - set(plan.get("changes") or {}):
        raise ValueError(f"the plan's changes must have the counts {', '.join(sorted(_COUNTS))}")
    return plan


#: A plan as a runner reports it.
CountedPlan = Annotated[Plan, BeforeValidator(_with_counts)]


class RecordPlan(Message):
    """Stores a runner's plan, and returns its next step."""

    deployment: str
    plan: CountedPlan


class PlanRecorded(Message):
    """The plan's next step. ``policies``: evaluate policies; ``refused``: policies refuse it."""

    next: Literal["nothing", "policies", "refused", "gate", "review", "apply"]
    reason: str


class EvaluatePlan(Message):
    """Returns the next step of a deployment's plan after the policy checks."""

    deployment: str


class WithToken(Message):
    """A waiting task token.

    ``entered`` is when its state was entered, ``retry`` how often it was retried since: so the later of two tokens is
    known.
    """

    token: str
    entered: Timestamp | None = None
    retry: int = 0

    @property
    def attempt(self) -> str:
        """A key that sorts after every earlier attempt."""
        entered = timestamp_text(self.entered) if self.entered else ""
        return f"{entered}#{self.retry:03}"


class Waiting(WithToken):
    """A deployment that waits with a task token."""

    deployment: str


class WaitBefore(Waiting):
    """A deployment that waits for something else first; ``before`` counts earlier such waits."""

    before: int = Field(default=0, ge=0)


class WaitAtGate(WaitBefore):
    """Lets a deployment wait for dependencies; the token is settled with the next step.

    ``job`` is the one that made the plan, None before there is a plan.
    """

    job: str | None = None


class WaitForRequirements(WaitBefore):
    """Lets a deployment wait for its apply requirements; the token is settled as that of a gate."""


class WaitForSlot(Waiting):
    """Lets a job of a deployment wait for a concurrency slot; the token is settled with {}."""


class GateDecided(Message):
    """The next step after a gate."""

    next: Literal["plan", "plan again", "review", "apply", "rejected", "superseded"]


class RequestReview(Waiting):
    """Requests a review of the plan; the token is settled with the decision."""


class ReviewDecided(Message):
    """The answer to a plan review."""

    approved: bool
    by: str
    at: Timestamp


class RecordResult(Message):
    """Records how a deployment ended. ``error`` and ``cause`` are those of the failed state.

    ``workflow`` is the execution of a cluster's workflow if this is the apply of its root module, which ends no
    deployment. ``providers`` are how long the resources of each took in a successful apply.
    """

    deployment: str
    workflow: str | None = None
    state: Literal[
        "applied", "plan_failed", "apply_failed", "review_expired", "gate_expired", "outcome_unknown", "engine_fault"
    ]
    error: str | None = None
    cause: str | None = None
    last_lines: str = ""
    providers: tuple[ProviderTime, ...] = ()


class ResultRecorded(Message):
    """The recorded state: ``engine_fault`` becomes ``outcome_unknown`` if an apply was running.

    ``end`` is the machine's next step after an unexpected end: a cancelled deployment, an apply that ended normally
    after an interrupt, or one with an ``unknown`` outcome. ``error`` and ``cause`` are for the workflow of a cluster.
    """

    state: str
    end: Literal["recorded", "unknown", "cancelled", "apply failed"] = "recorded"
    error: str | None = None
    cause: str | None = None


class DiscoverPullRequest(Message):
    """Asks what one revision (``HEAD+BASE``) of a pull request (``OWNER/REPO#NUMBER``) changes."""

    pull_request: str
    revision: str


class PullRequestDiscovered(Message):
    """The next step: plan these speculative plans, only publish, or nothing.

    ``nothing``: the pull request changes no root. ``stop``: the revision is outdated.
    """

    next: Literal["plan", "comment", "nothing", "stop"]
    layers: tuple[str, ...] = ()


class BeginSpeculativePlan(Message):
    """Begins a speculative plan; ``attempt`` numbers its jobs, ``tries`` counts its attempts.

    A plan that moves from Lambda to Fargate because no runner started has another job, but the same try.
    """

    layer: str
    attempt: int = Field(ge=1)
    tries: int = Field(default=1, ge=1)


class WaitForPlanSlot(WithToken):
    """Lets a speculative plan wait for a concurrency slot of its repository; the token is settled with {}."""

    layer: str


class RecordSpeculativePlan(Message):
    """Stores the result of a speculative plan: the plan, or the error and cause of the failed state."""

    layer: str
    plan: CountedPlan | None = None
    error: str | None = None
    cause: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.plan is None) is (self.error is None):
            raise ValueError("set either plan or error")
        return self


class SpeculativePlanRecorded(Message):
    """The speculative plan's state; ``policies`` tells that policies evaluate its plan next."""

    state: str
    policies: bool = False


class CheckPolicies(Message):
    """Evaluates a speculative plan, or a deployment's plan, with its policies."""

    layer: str | None = None
    deployment: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.layer is None) is (self.deployment is None):
            raise ValueError("set either layer or deployment")
        return self


class PoliciesChecked(Message):
    """The names of the policy sets that refuse the plan."""

    failed: tuple[str, ...]


class PublishPullRequest(Message):
    """Publishes what the merge would do. ``error`` and ``cause`` describe an internal error."""

    pull_request: str
    revision: str
    error: str | None = None
    cause: str | None = None


class PullRequestPublished(Message):
    """The result: published, or superseded by a newer revision."""

    outcome: Literal["shown", "overtaken"]


class DiscoverDrift(Message):
    """Finds what this execution's run of a drift schedule must check."""

    repository: str
    schedule: str
    execution: str


class DriftDiscovered(Message):
    """The next step: plan these speculative plans, only conclude the run, or nothing.

    ``stop``: another run of the schedule is in progress, or the schedule no longer exists.
    """

    next: Literal["plan", "conclude", "stop"]
    layers: tuple[str, ...] = ()


class ConcludeDrift(Message):
    """Stores and publishes the result of this execution's run.

    ``error`` and ``cause`` describe an internal error.
    """

    repository: str
    schedule: str
    execution: str
    error: str | None = None
    cause: str | None = None


class DriftConcluded(Message):
    """The result, in a few words."""

    summary: str
