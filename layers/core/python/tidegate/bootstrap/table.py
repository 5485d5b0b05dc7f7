"""One table: what leads to which verb, by function.

A state machine's step and a queue's message say their ``kind``; an event of EventBridge has a source and a detail type.
Each row is a verb of its own, also where several share a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from tidegate.bootstrap import Bootstrap
from tidegate.bootstrap.readers import read_call, read_execution, read_press, read_runner
from tidegate.messages import (
    BeginJob,
    BeginSpeculation,
    CheckPolicies,
    ClaimDeployment,
    CloseWorker,
    ConcludeDrift,
    DiscoverDrift,
    DiscoverPullRequest,
    DriftConcluded,
    DriftDiscovered,
    HandOverJob,
    HandOverWorker,
    JudgePlan,
    Message,
    PublishPullRequest,
    PullRequestDiscovered,
    PullRequestPublished,
    RecordOutcome,
    RecordPlan,
    RecordResult,
    RecordSpeculation,
    RequestReview,
    StartOnLambda,
    ValidateRevision,
    WaitAtGate,
    WaitForPlace,
    WaitForRequirements,
    WaitForSignal,
    WaitForSlot,
)
from tidegate.messages.queues import (
    ActionEvent,
    DiscoveryEvent,
    Event,
    FollowApply,
    GiveSlots,
    OpenGates,
    PublishDeployment,
    PublishDeploys,
    PublishLayer,
    PublishProgress,
    PublishRevision,
    RefreshPositions,
)
from tidegate.ports.deliveries import Delivery
from tidegate.settings import WorkflowSettings

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Verb(Generic[M]):
    """What a kind leads to: its message is parsed and given to the verb.

    A state machine's step returns its answer, or None where something else answers a task token. What the verb of a
    queue's message returns is logged.
    """

    message: type[M]
    carry_out: Callable[[Bootstrap, M], Any]

    def take(self, wires: Bootstrap, fields: Mapping[str, Any]) -> Any:
        return self.carry_out(wires, self.message.model_validate(fields))


@dataclass(frozen=True, slots=True)
class Queue:
    """How a function takes the messages of a queue, and the verb of each kind. ``name`` is what its rights are named.

    ``how``: in any order; ``held``, which comes back soon also when the function dies; ``in order``, group by group.
    What does not come back ``soon`` after a failure is left to the queue. Of equal messages of a batch, ``once`` takes
    one.
    """

    name: str
    how: Literal["any", "held", "in order"]
    verbs: Mapping[str, Verb[Any]]
    soon: bool = True
    once: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """What an event of EventBridge leads to: the verb gets its detail. ``name`` is what its rights are named."""

    name: str
    carry_out: Callable[[Bootstrap, Mapping[str, Any]], object]


def _events(message: type[Event], verbs: Mapping[str, Callable[[Bootstrap, Delivery], object]]) -> dict[str, Verb[Any]]:
    """Return the rows of kinds of stored deliveries, whose verbs take the delivery."""

    def row(verb: Callable[[Bootstrap, Delivery], object]) -> Verb[Event]:
        return Verb(
            message,
            lambda wires, event: verb(wires, Delivery(event.delivery, event.kind, event.fields, event.received_at)),
        )

    return {kind: row(verb) for kind, verb in verbs.items()}


def _discover_pull_request(wires: Bootstrap, asked: DiscoverPullRequest) -> PullRequestDiscovered:
    found, layers = wires.pull_request_discoverer.discover(asked.pull_request, asked.revision)
    return PullRequestDiscovered(next=found, layers=tuple(layers))


def _publish_pull_request(wires: Bootstrap, asked: PublishPullRequest) -> PullRequestPublished:
    what = asked.pull_request, asked.revision, asked.error or "", asked.cause or ""
    return PullRequestPublished(outcome=wires.pull_request_publisher.publish(*what))


def _discover_drift(wires: Bootstrap, asked: DiscoverDrift) -> DriftDiscovered:
    following, layers = wires.drift_discoverer.discover(asked.repository, asked.schedule, asked.execution)
    return DriftDiscovered(next=following, layers=layers)


def _conclude_drift(wires: Bootstrap, asked: ConcludeDrift) -> DriftConcluded:
    run, concluder = (asked.repository, asked.schedule, asked.execution), wires.drift_concluder
    summary = concluder.fail(*run, asked.error, asked.cause or "") if asked.error else concluder.conclude(*run)
    return DriftConcluded(summary=summary)


def _publish_revision(wires: Bootstrap, asked: PublishRevision) -> object:
    return wires.publication.publish(asked.pull_request, asked.revision, asked.error, asked.cause)


def _publish_deployment(wires: Bootstrap, asked: PublishDeployment) -> None:
    how = asked.model_dump(exclude={"kind", "deployment"})
    wires.check_run_publisher.publish(asked.deployment, **how)


def _release_queue(wires: Bootstrap, detail: Mapping[str, Any]) -> None:
    """Release the queue of a deploy execution. A Terraform execution is caught by the deploy execution above it."""
    if detail["stateMachineArn"] == WorkflowSettings.from_env(wires.environ).deploy_machine:
        wires.queue_releaser.release(read_execution(detail))


#: By function: docs/permissions.md says what each may do. A step keeps its name for as long as a definition calls it.
STEPS: Mapping[str, Mapping[str, Verb[Any]]] = {
    "steps": {
        "claim_deployment": Verb(ClaimDeployment, lambda wires, asked: wires.deployment_claimer.claim(asked)),
        "close_worker": Verb(CloseWorker, lambda wires, asked: wires.worker_closer.close(asked)),
        "record_plan": Verb(RecordPlan, lambda wires, asked: wires.plan_recorder.record(asked)),
        "record_result": Verb(RecordResult, lambda wires, asked: wires.result_recorder.record(asked)),
        "record_outcome": Verb(RecordOutcome, lambda wires, asked: wires.outcome_recorder.record(asked)),
        "start_on_lambda": Verb(StartOnLambda, lambda wires, asked: wires.lambda_starter.start(asked)),
        "publish_pull_request": Verb(PublishPullRequest, _publish_pull_request),
    },
    "forge_steps": {
        "validate_revision": Verb(ValidateRevision, lambda wires, asked: wires.revision_validator.validate(asked)),
        "begin_job": Verb(BeginJob, lambda wires, asked: wires.job_beginner.begin(asked)),
        "hand_over_job": Verb(HandOverJob, lambda wires, asked: wires.job_handover.hand_over(asked)),
        "judge_plan": Verb(JudgePlan, lambda wires, asked: wires.held_plan_judge.judge(asked)),
        "conclude_drift": Verb(ConcludeDrift, _conclude_drift),
    },
    "waits": {
        "wait_for_signal": Verb(WaitForSignal, lambda wires, asked: wires.signal_waiter.wait(asked)),
        "wait_at_gate": Verb(WaitAtGate, lambda wires, asked: wires.gate_waiter.wait(asked)),
        "wait_for_slot": Verb(WaitForSlot, lambda wires, asked: wires.slot_waiter.wait(asked)),
        "request_review": Verb(RequestReview, lambda wires, asked: wires.review_requester.request(asked)),
    },
    "wait_for_requirements": {
        "wait_for_requirements": Verb(WaitForRequirements, lambda wires, asked: wires.requirements_gate.wait(asked)),
    },
    "workers": {
        "hand_over_worker": Verb(HandOverWorker, lambda wires, asked: wires.worker_handover.hand_over(asked)),
    },
    "discovery_steps": {
        "discover_pull_request": Verb(DiscoverPullRequest, _discover_pull_request),
        "discover_drift": Verb(DiscoverDrift, _discover_drift),
    },
    "pull_request_steps": {
        "begin_speculation": Verb(BeginSpeculation, lambda wires, asked: wires.speculation_beginner.begin(asked)),
        "wait_for_place": Verb(WaitForPlace, lambda wires, asked: wires.place_waiter.wait(asked)),
        "record_speculation": Verb(RecordSpeculation, lambda wires, asked: wires.speculation_recorder.record(asked)),
    },
    "check_policies": {
        "check_policies": Verb(CheckPolicies, lambda wires, asked: wires.policy_checker.check(asked)),
    },
}
_POSITIONS = Queue(
    "refresh_line",
    "any",
    {"refresh_positions": Verb(RefreshPositions, lambda wires, asked: wires.line_refresher.refresh(asked.queue))},
    soon=False,  # Positions move soon again.
)
#: By function, and by the variable with the queue's URL.
QUEUES: Mapping[str, Mapping[str, Queue]] = {
    "discover_roots": {
        "TIDEGATE_PUSH_QUEUE": Queue(
            "discover_roots",
            "held",
            _events(
                DiscoveryEvent,
                {
                    "push": lambda wires, event: wires.push_receiver.receive(event),
                    "head": lambda wires, event: wires.push_receiver.receive(event),
                    "issue_comment": lambda wires, event: wires.comment_receiver.receive(event),
                    "manual": lambda wires, event: wires.request_receiver.receive(event),
                    "rerun": lambda wires, event: wires.rerun_requester.receive_check(event),
                    "check_suite": lambda wires, event: wires.rerun_requester.receive_suite(event),
                    "replan": lambda wires, event: wires.rerun_planner.receive(event),
                    "retry": lambda wires, event: wires.blocked_retrier.receive(event),
                    "pull_request": lambda wires, event: wires.pull_request_receiver.receive(event),
                    "pull_request_review": lambda wires, event: wires.pull_request_receiver.receive(event),
                    "merge_group": lambda wires, event: wires.pull_request_receiver.receive(event),
                    "drift": lambda wires, event: wires.drift_receiver.receive(event),
                    "look_for_drift": lambda wires, event: wires.drift_rerun_receiver.receive(event),
                },
            ),
        ),
    },
    "api": {
        "TIDEGATE_ACTION_QUEUE": Queue(
            "answer_button",
            "any",
            _events(
                ActionEvent,
                {
                    "check_run": lambda wires, event: wires.button_answerer.answer(read_press(event)),
                    "decision": lambda wires, event: wires.comment_decider.receive(event),
                },
            ),
        ),
    },
    "forge_steps": {
        "TIDEGATE_CHECK_RUN_QUEUE": Queue(
            "publish_check_run",
            "in order",
            {
                "publish_deployment": Verb(PublishDeployment, _publish_deployment),
                "publish_layer": Verb(PublishLayer, lambda wires, asked: wires.progress_shower.layer(asked.layer)),
                "publish_progress": Verb(
                    PublishProgress,
                    lambda wires, asked: wires.progress_shower.progress(asked.pull_request, asked.not_before),
                ),
                "publish_revision": Verb(PublishRevision, _publish_revision),
                "follow_apply": Verb(FollowApply, lambda wires, asked: wires.applied_merger.go_on(asked.pull_request)),
                "publish_deploys": Verb(
                    PublishDeploys,
                    lambda wires, asked: wires.deploys_shower.show(asked.pull_request, asked.not_before),
                ),
            },
        ),
    },
    "workers": {
        # Whoever sent a message had saved what it is about: one of a batch stands for all that say the same.
        "TIDEGATE_CHANGE_QUEUE": Queue(
            "open_gates",
            "in order",
            {
                "open_gates": Verb(OpenGates, lambda wires, asked: wires.gate_opener.open(asked.change_set)),
                "give_slots": Verb(GiveSlots, lambda wires, _: wires.hand_on_slots()),
            },
            once=True,
        ),
    },
    "steps": {"TIDEGATE_LINE_QUEUE": _POSITIONS, "TIDEGATE_LINE_LATER_QUEUE": _POSITIONS},
}
#: By function, and by an event's source and detail type. Who may put events on a bus may name the source ``lambda``.
RULES: Mapping[str, Mapping[tuple[str, str], Rule]] = {
    "workers": {
        ("aws.states", "Step Functions Execution Status Change"): Rule("execution_closed", _release_queue),
    },
    "waits": {
        ("aws.ecs", "ECS Task State Change"): Rule(
            "runner_stopped", lambda wires, task: wires.stopped_runner_reporter.report(read_runner(task))
        ),
        ("lambda", "Lambda Function Invocation Result - Failure"): Rule(
            "runner_stopped", lambda wires, record: wires.stopped_runner_reporter.report_call(*read_call(record))
        ),
    },
}
