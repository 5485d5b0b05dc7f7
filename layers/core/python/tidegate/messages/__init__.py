"""Input and output of every task of the state machines: a Lambda's payload is one of these and its ``kind``, no more.

The keys of each task's ``Payload`` in ``stepfunctions/*.asl.yaml`` are the input's fields, and a
Choice reads only fields of the output before it. A test holds the files to that.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from tidegate.deploys.rules.job import Job, job_digest
from tidegate.deploys.rules.plan_runner import word_of
from tidegate.deploys.rules.runner_size import DISPATCH_SECONDS
from tidegate.plans.rules.plan import Plan
from tidegate.rules.timestamp import timestamp_from, timestamp_text

#: What a runner must have counted in a plan.
_COUNTS = frozenset({"add", "change", "destroy", "replace", "outputs", "moved"})


#: An instant, which is text in the message.
Timestamp = Annotated[
    datetime,
    BeforeValidator(timestamp_from, json_schema_input_type=str),
    PlainSerializer(timestamp_text, return_type=str),
]


class Message(BaseModel):
    """A message: unknown fields are refused, so that a typo in a state machine shows."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class ClaimDeployment(Message):
    """Asks for the worker's next step.

    ``rounds`` counts the claims of this execution so far; ``started`` is when it was started.
    """

    queue: str
    execution: str
    rounds: int = Field(ge=0)
    started: Timestamp


class Claimed(Message):
    """The worker's next step; ``deployment`` is set when the step is ``deploy``.

    ``version`` is the queue's version that this was decided on.
    """

    step: Literal["deploy", "wait", "hand over", "stop"]
    reason: str
    version: int
    deployment: str | None = None


class ValidateRevision(Message):
    """Asks whether a deployment's revision may follow the one deployed last."""

    queue: str
    deployment: str


class About(Message):
    """What an execution deploys, so that people find it in the console: ``OWNER/REPO``, root, stack, commit."""

    repository: str
    root: str
    stack: str
    commit: str


class RevisionValidated(Message):
    """Whether the revision may be deployed, and why; ``waits`` tells that its plan waits for others of its change."""

    allowed: bool
    reason: str
    about: About
    waits: bool = False


class RecordOutcome(Message):
    """Ends a deployment in its queue. ``error`` is what the Terraform machine failed with, if it did."""

    queue: str
    deployment: str
    error: str | None = None


class OutcomeRecorded(Message):
    """The state in which the deployment ended."""

    state: str


class WaitForSignal(Message):
    """Leaves a task token at the queue, to be answered when something arrives after ``version``."""

    queue: str
    execution: str
    version: int
    token: str


class CloseWorker(Message):
    """Asks to close the queue's worker, if nothing can be taken."""

    queue: str
    execution: str


class WorkerClosed(Message):
    """Whether the worker was closed; if not, there is work."""

    closed: bool


class ContinueAsNew(Message):
    """Asks to start the next execution on this queue in place of ``execution``."""

    queue: str
    execution: str


class BeginJob(Message):
    """Begins a plan or an apply: the job is created and the new state is announced.

    ``attempt`` numbers the jobs of this phase, ``tries`` counts those of them that make the same plan.
    """

    deployment: str
    phase: Literal["plan", "apply"]
    attempt: int = Field(ge=1)
    tries: int = Field(default=1, ge=1)


class TaskSize(Message):
    """The size of a runner's task, as ECS takes it; ``seconds`` that its job may take, ``life`` that it may live."""

    cpu: str
    memory: str
    disk: int
    seconds: int = Field(ge=60)
    life: str


class JobBegun(Message):
    """The job that a runner is to take: its id, the digest of its specification, its task's size, and what runs it."""

    job: str
    digest: str
    size: TaskSize
    runner: Literal["fargate", "lambda"] = "fargate"

    @classmethod
    def of(cls, job: Job) -> Self:
        size, seconds = job.size, job.seconds
        life = str(seconds + DISPATCH_SECONDS)
        task = TaskSize(cpu=str(size.cpu), memory=str(size.memory), disk=size.disk, seconds=seconds, life=life)
        return cls(job=job.id, digest=job_digest(job), size=task, runner=word_of(job.runner))


class StartOnLambda(Message):
    """Starts the runner of a plan on Lambda. ``function`` is the ARN of its version, ``token`` waits for its start."""

    function: str
    job: str
    digest: str
    token: str


class DispatchJob(Message):
    """Leaves the task token that waits for the job's result to the runner. ``digest`` is that of the job as begun."""

    job: str
    token: str
    digest: str = ""


class ApplyResult(Message):
    """What the runner answers when an apply succeeded; ``last_lines`` end the engine's output."""

    job: str
    last_lines: str


def _with_counts(plan: object) -> object:
    """Refuse a plan whose changes were not counted: an unreadable plan is never an empty one."""
    if isinstance(plan, dict) and _COUNTS - set(plan.get("changes") or {}):
        raise ValueError(f"the plan's changes must have the counts {', '.join(sorted(_COUNTS))}")
    return plan


#: A plan as a runner answered it.
CountedPlan = Annotated[Plan, BeforeValidator(_with_counts)]


class RecordPlan(Message):
    """Stores a plan, as the runner answered it, and asks what it needs."""

    deployment: str
    plan: CountedPlan


class PlanRecorded(Message):
    """What the plan needs next. ``policies``: to be checked against policies; ``refused``: they do not let it pass."""

    next: Literal["nothing", "policies", "refused", "gate", "review", "apply"]
    reason: str


class EvaluatePlan(Message):
    """Asks what the plan of a deployment needs, once it was checked against policies."""

    deployment: str


class WithToken(Message):
    """A task token that something waits with.

    ``entered`` is when its state was entered, ``retry`` how often that was retried since: so it is known which of two
    tokens is the one that an execution still waits with.
    """

    token: str
    entered: Timestamp | None = None
    retry: int = 0

    @property
    def attempt(self) -> str:
        """What sorts after the same of every earlier attempt."""
        entered = timestamp_text(self.entered) if self.entered else ""
        return f"{entered}#{self.retry:03}"


class Waiting(WithToken):
    """A deployment that waits with a task token."""

    deployment: str


class WaitBefore(Waiting):
    """A deployment that waits for something else before it goes on; ``before`` counts such waits that are over."""

    before: int = Field(default=0, ge=0)


class WaitAtGate(WaitBefore):
    """Lets a deployment wait for others of its change; the token is answered with what follows.

    ``job`` is the one that made the plan, None before there is a plan.
    """

    job: str | None = None


class WaitForRequirements(WaitBefore):
    """Lets a deployment wait for what its root requires before an apply; the token is answered as that of a gate."""


class WaitForSlot(Waiting):
    """Lets a job of a deployment wait for a concurrency slot; the token is answered with {}."""


class GateDecided(Message):
    """What follows from a gate."""

    next: Literal["plan", "plan again", "review", "apply", "rejected", "superseded"]


class RequestReview(Waiting):
    """Asks people to review the plan; the token is answered with their decision."""


class ReviewDecided(Message):
    """The answer to a plan review."""

    approved: bool
    by: str
    at: Timestamp


class RecordResult(Message):
    """Records how a deployment ended. ``error`` and ``cause`` are those of the failed state."""

    deployment: str
    state: Literal[
        "applied", "plan_failed", "apply_failed", "review_expired", "gate_expired", "outcome_unknown", "engine_fault"
    ]
    error: str | None = None
    cause: str | None = None
    last_lines: str = ""


class ResultRecorded(Message):
    """The state that was recorded: ``engine_fault`` becomes ``outcome_unknown`` if an apply was running.

    ``end`` is what the machine follows where it did not expect any: what was cancelled, an apply that ended in order
    after somebody interrupted it, or one whose outcome is ``unknown``.
    """

    state: str
    end: Literal["recorded", "unknown", "cancelled", "apply failed"] = "recorded"


class DiscoverPullRequest(Message):
    """Asks what one revision (``HEAD+BASE``) of a pull request (``OWNER/REPO#NUMBER``) changes."""

    pull_request: str
    revision: str


class PullRequestDiscovered(Message):
    """What is to be done: plan these speculative plans, only show something, or nothing at all.

    ``nothing``: the pull request changes no root. ``stop``: the revision is not the newest any more.
    """

    next: Literal["plan", "comment", "nothing", "stop"]
    layers: tuple[str, ...] = ()


class BeginSpeculativePlan(Message):
    """Begins a speculative plan; ``attempt`` numbers its jobs, ``tries`` counts its attempts.

    A plan that moves from Lambda to Fargate as no runner started there has another job, and was not tried again.
    """

    layer: str
    attempt: int = Field(ge=1)
    tries: int = Field(default=1, ge=1)


class WaitForPlanSlot(WithToken):
    """Lets a speculative plan wait for a free place among the plans of its repository; the token is answered with
    {}.
    """

    layer: str


class RecordSpeculativePlan(Message):
    """Stores what a speculative plan came to: the plan, or else the error and cause of the failed state."""

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
    """The state that the speculative plan has now; ``policies`` tells that its plan is checked against policies
    next.
    """

    state: str
    policies: bool = False


class CheckPolicies(Message):
    """Asks to check a speculative plan, or a deployment's plan, against the policies."""

    layer: str | None = None
    deployment: str | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if (self.layer is None) is (self.deployment is None):
            raise ValueError("set either layer or deployment")
        return self


class PoliciesChecked(Message):
    """The names of the policy sets that the plan does not pass."""

    failed: tuple[str, ...]


class PublishPullRequest(Message):
    """Asks to show what the merge would do. ``error`` and ``cause`` are set where Tidegate itself failed before."""

    pull_request: str
    revision: str
    error: str | None = None
    cause: str | None = None


class PullRequestPublished(Message):
    """What became of it: shown, or a newer revision has overtaken this one."""

    outcome: Literal["shown", "overtaken"]


class DiscoverDrift(Message):
    """Asks what a schedule of a repository is to look at, in the run of this execution."""

    repository: str
    schedule: str
    execution: str


class DriftDiscovered(Message):
    """What is to be done: plan these speculative plans, or only conclude the run, or nothing at all.

    ``stop``: another run of the schedule goes on, or there is no such schedule any more.
    """

    next: Literal["plan", "conclude", "stop"]
    layers: tuple[str, ...] = ()


class ConcludeDrift(Message):
    """Asks to keep what the run of this execution found, and to show it.

    ``error`` and ``cause`` are set where Tidegate itself failed before.
    """

    repository: str
    schedule: str
    execution: str
    error: str | None = None
    cause: str | None = None


class DriftConcluded(Message):
    """What was found, in a few words."""

    summary: str
