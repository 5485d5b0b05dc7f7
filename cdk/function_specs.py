"""All functions: what each is for, what it may do, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass

from cdk.capabilities import Capability


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function: its directory's name, its rights, its time limit in seconds and its memory in MB."""

    name: str
    description: str
    capabilities: tuple[Capability, ...]
    timeout: int = 60
    memory: int = 512
    #: The folder of functions/ with the Dockerfile, for one that is an image.
    image: str = ""
    third_party: bool = True
    invoked_by_events: bool = False

    @property
    def id(self) -> str:
        """The name of the function in the template, which is also its placeholder in the state machines."""
        return "".join(word.capitalize() for word in self.name.split("_")) + "Function"


_C = Capability

#: GitHub waits for 10 s for an answer to a webhook; state machines wait for 120 s for a task's function.
SPECS: tuple[FunctionSpec, ...] = (
    FunctionSpec(
        "webhook",
        "Verifies, stores and queues webhook deliveries",
        (_C.DELIVERIES, _C.SEND_EVENTS, _C.WEBHOOK_SECRET, _C.COMMENT_PREFIXES),
        timeout=9,
        memory=1024,
        third_party=False,
    ),
    FunctionSpec(
        "discover_roots",
        "Finds the roots that a push or a comment is about, and enqueues their deployments and what runs again",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.CATALOG,
            _C.DELIVERIES,
            _C.SEND_EVENTS,
            _C.READ_ORGANIZATION,
            _C.PLAN_REVIEW,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.PULL_REQUESTS,
            _C.OPEN_INDEX,
            _C.LAYERS,
            _C.PLACES,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.START_PULL_REQUESTS,
            _C.DRIFTS,
            _C.SCHEDULE_DRIFT,
            _C.START_DRIFT,
            _C.WATCH_DRIFT,
            _C.STORE_POLICIES,
            _C.READ_JOBS,
            _C.ANSWER_JOBS,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "answer_button",
        "Answers the buttons of check runs, and decides by comments",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.DELIVERIES,
            _C.PRESS_QUEUE,
            _C.SEND_EVENTS,
            _C.JOBS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.STOP_RUNNERS,
            _C.READ_PULL_REQUESTS,
            _C.OPEN_INDEX,
            _C.READ_ARTIFACTS,
            _C.FORGE,
        ),
    ),
    FunctionSpec(
        "api",
        "Answers programs with JSON and browsers with pages",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.READ_PULL_REQUESTS,
            _C.READ_LAYERS,
            _C.READ_PLACES,
            _C.READ_DRIFTS,
            _C.START_DRIFT,
            _C.WATCH_DRIFT,
            _C.OPEN_INDEX,
            _C.READ_CATALOG,
            _C.JOBS,
            _C.READ_JOBS,
            _C.READ_ARTIFACTS,
            _C.SIGN_OUTS,
            _C.DELIVERIES,
            _C.SEND_EVENTS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.STOP_RUNNERS,
            _C.FORGE,
            _C.OPERATORS,
        ),
        # API Gateway waits for 30 s. The memory decides about the processor: a page is rendered in half the time.
        timeout=29,
        memory=1024,
    ),
    FunctionSpec(
        "publish_check_run",
        "Brings check runs up to date",
        (
            _C.READ_QUEUES,
            _C.MANY_QUEUES,
            _C.READ_LINES,
            _C.DEPLOYMENTS,
            _C.MANY_DEPLOYMENTS,
            _C.READ_CHANGE_SETS,
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.READ_PLACES,
            _C.PULL_CHECKS,
            _C.CHECK_RUN_QUEUE,
            _C.OPEN_INDEX,
            _C.READ_ARTIFACTS,
            _C.FORGE,
        ),
    ),
    FunctionSpec(
        "refresh_line",
        "Brings the check runs of a queue's line up to date",
        (_C.READ_QUEUES, _C.READ_DEPLOYMENTS, _C.LINES, _C.CHECK_RUN_QUEUE, _C.LINE_QUEUES, _C.ASK_GATES),
        timeout=30,
    ),
    FunctionSpec(
        "execution_closed",
        "Releases the queue of an execution that died",
        (_C.QUEUES, _C.JOBS, _C.ANNOUNCE, _C.ASK_GATES, _C.AUDIT, _C.START_DEPLOYS, _C.ANSWER_WORKERS),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "runner_stopped",
        "Fails the tokens of a runner that stopped",
        (_C.JOBS, _C.ANSWER_JOBS, _C.ANSWER_SPECULATIONS),
        invoked_by_events=True,
    ),
    FunctionSpec(
        "reconcile",
        "Repairs what events missed",
        (
            _C.OPEN_INDEX,
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.ASK_GATES,
            _C.JOBS,
            _C.DELIVERIES,
            _C.READ_CATALOG,
            _C.SEND_EVENTS,
            _C.ANNOUNCE,
            _C.AUDIT,
            _C.START_DEPLOYS,
            _C.WATCH_DEPLOYS,
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.PLACES,
            _C.READ_DRIFTS,
            _C.WATCH_DRIFT,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.START_PULL_REQUESTS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
            _C.STOP_RUNNERS,
            _C.LIST_RUNNERS,
            _C.FORGE,
        ),
        timeout=240,
        invoked_by_events=True,
    ),
    FunctionSpec("claim_deployment", "Claims the next deployment of a queue", (_C.QUEUES, _C.ANNOUNCE, _C.ROUNDS)),
    FunctionSpec(
        "validate_revision",
        "Compares a revision with the deployed one",
        (_C.QUEUES, _C.MANY_DEPLOYMENTS, _C.READ_CHANGE_SETS, _C.READ_CATALOG, _C.ANNOUNCE, _C.FORGE),
    ),
    FunctionSpec(
        "record_outcome", "Ends a deployment in its queue", (_C.QUEUES, _C.JOBS, _C.AUDIT, _C.ANNOUNCE, _C.ASK_GATES)
    ),
    FunctionSpec("wait_for_signal", "Leaves a worker's token at its queue", (_C.HEADS, _C.ANSWER_WORKERS)),
    FunctionSpec("close_worker", "Closes the worker of a quiet queue", (_C.HEADS,)),
    FunctionSpec(
        "hand_over_worker", "Starts a worker's next generation", (_C.HEADS, _C.START_DEPLOYS, _C.ANSWER_WORKERS)
    ),
    FunctionSpec(
        "begin_job",
        "Creates a job, an apply only with its audit message",
        (
            _C.DEPLOYMENTS,
            _C.MANY_DEPLOYMENTS,
            _C.READ_CHANGE_SETS,
            _C.READ_QUEUES,
            _C.JOBS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.STOP_RUNNERS,
            _C.READ_PULL_REQUESTS,
            _C.FORGE,
        ),
    ),
    FunctionSpec("hand_over_job", "Leaves a job's tokens to its runner", (_C.READ_DEPLOYMENTS, _C.JOBS, _C.FORGE)),
    FunctionSpec("record_plan", "Stores a plan and decides what it needs", (_C.DEPLOYMENTS, _C.ANNOUNCE)),
    FunctionSpec(
        "judge_plan",
        "Decides what a plan needs that was held against policies",
        (_C.DEPLOYMENTS, _C.READ_PULL_REQUESTS, _C.ANNOUNCE, _C.FORGE),
    ),
    FunctionSpec(
        "wait_at_gate",
        "Lets a deployment wait for others of its change",
        (_C.DEPLOYMENTS, _C.MANY_DEPLOYMENTS, _C.READ_CHANGE_SETS, _C.ANNOUNCE, _C.ASK_GATES, _C.ANSWER_JOBS),
    ),
    FunctionSpec(
        "wait_for_requirements",
        "Lets a deployment wait for what its root requires",
        (_C.DEPLOYMENTS, _C.READ_QUEUES, _C.READ_PULL_REQUESTS, _C.ANNOUNCE, _C.ANSWER_JOBS, _C.FORGE),
    ),
    FunctionSpec(
        "open_gates",
        "Opens the gates of a change at which nothing is waited for any more",
        (
            _C.QUEUES,
            _C.MANY_DEPLOYMENTS,
            _C.CHANGE_SETS,
            _C.AUDIT,
            _C.ANNOUNCE,
            _C.ASK_GATES,
            _C.START_DEPLOYS,
            _C.ANSWER_WORKERS,
            _C.ANSWER_JOBS,
        ),
    ),
    FunctionSpec("request_review", "Asks people to review a plan", (_C.DEPLOYMENTS, _C.ANNOUNCE, _C.ANSWER_JOBS)),
    FunctionSpec(
        "record_result",
        "Records how a deployment ended",
        (_C.DEPLOYMENTS, _C.JOBS, _C.AUDIT, _C.ANNOUNCE, _C.STOP_RUNNERS),
    ),
    FunctionSpec(
        "discover_pull_request",
        "Finds the roots that a pull request changes",
        (
            _C.PULL_REQUESTS,
            _C.LAYERS,
            _C.PULL_CHECKS,
            _C.REMOVE_LAYERS,
            _C.READ_ORGANIZATION,
            _C.STORE_POLICIES,
            _C.PLAN_REVIEW,
            _C.CHECK_RUN_QUEUE,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "begin_speculation",
        "Creates the job of a speculative plan",
        (_C.LAYERS, _C.PLACES, _C.SPECULATION_JOBS, _C.CHECK_RUN_QUEUE, _C.STOP_RUNNERS, _C.FORGE_ADDRESS),
    ),
    FunctionSpec(
        "wait_for_place", "Lets a speculative plan wait for others", (_C.READ_LAYERS, _C.PLACES, _C.CHECK_RUN_QUEUE)
    ),
    FunctionSpec(
        "record_speculation",
        "Records what a speculative plan came to",
        (_C.LAYERS, _C.PLACES, _C.CHECK_RUN_QUEUE, _C.STOP_RUNNERS),
    ),
    FunctionSpec(
        "check_policies",
        "Holds a plan against the policies",
        (_C.LAYERS, _C.DEPLOYMENTS, _C.CHECK_POLICIES, _C.CHECK_RUN_QUEUE),
        # All sets of a plan one after the other; a large plan takes much memory and its time (docs/policies.md).
        timeout=300,
        memory=3008,
        image="check_policies",
    ),
    FunctionSpec(
        "publish_pull_request",
        "Has what is known of a pull request shown",
        (_C.READ_PULL_REQUESTS, _C.CHECK_RUN_QUEUE),
    ),
    FunctionSpec(
        "discover_drift",
        "Finds the roots that are looked at for drift",
        (
            _C.DRIFTS,
            _C.SCHEDULE_DRIFT,
            _C.WATCH_DRIFT,
            _C.LAYERS,
            _C.PULL_CHECKS,
            _C.READ_CATALOG,
            _C.READ_ORGANIZATION,
            _C.PLAN_REVIEW,
            _C.FORGE,
        ),
        timeout=300,
        memory=2048,
        image="discover_roots",
    ),
    FunctionSpec(
        "conclude_drift",
        "Keeps and shows what was looked at for drift",
        (
            _C.DRIFTS,
            _C.LAYERS,
            _C.REMOVE_LAYERS,
            _C.MANY_DEPLOYMENTS,
            _C.PULL_CHECKS,
            _C.DELIVERIES,
            _C.SEND_EVENTS,
            _C.TELL_BUS,
            _C.FORGE,
        ),
    ),
)
