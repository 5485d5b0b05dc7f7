"""The table that maps kinds and events to verbs, by function.

A state machine's step and a queue's message have a ``kind``; an event of EventBridge has a source and a detail type.
Each row is a separate verb, even if several share a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, Literal, TypeVar

from tidegate.bootstrap.readers import (
    read_call,
    read_click,
    read_cluster_execution,
    read_execution,
    read_runner,
    read_update_execution,
)
from tidegate.messages import (
    BeginJob,
    BeginSpeculativePlan,
    CheckPolicies,
    ClaimDeployment,
    CloseWorker,
    ConcludeDrift,
    ContinueAsNew,
    DiscoverDrift,
    DiscoverPullRequest,
    DispatchJob,
    DriftConcluded,
    DriftDiscovered,
    EvaluatePlan,
    Message,
    PublishPullRequest,
    PullRequestDiscovered,
    PullRequestPublished,
    RecordOutcome,
    RecordPlan,
    RecordResult,
    RecordSpeculativePlan,
    RequestReview,
    StartOnLambda,
    ValidateRevision,
    WaitAtGate,
    WaitForPlanSlot,
    WaitForRequirements,
    WaitForSignal,
    WaitForSlot,
)
from tidegate.messages.clusters import (
    BeginCluster,
    BeginClusterTask,
    EndCluster,
    EndFailedCluster,
    FailCluster,
    FailClusterTask,
    RecordClusterTask,
)
from tidegate.messages.config_updates import (
    BeginPromotion,
    BeginReplay,
    ClaimUpdate,
    CloseUpdateWorker,
    ContinueUpdates,
    EndSoak,
    FailPromotion,
    FailReplay,
    LandUpdate,
    PromoteEntry,
    PushReplay,
    PushUntested,
    StallPromotion,
    UpdateClaimed,
    WaitForUpdate,
    WaitInPromotion,
)
from tidegate.messages.queues import (
    ActionEvent,
    DeliverNotification,
    DeploymentChanged,
    DiscoveryEvent,
    DriftFound,
    Event,
    FollowApply,
    FollowStacks,
    FollowUpdate,
    GiveSlots,
    OpenGates,
    PublishDeployment,
    PublishDeploys,
    PublishEntry,
    PublishLayer,
    PublishProgress,
    PublishRevision,
    QueueLocked,
    RefreshPositions,
    ReviewExpiresSoon,
)
from tidegate.ports import Ports
from tidegate.ports.deliveries import Delivery
from tidegate.settings import ClusterWorkflowSettings, UpdateWorkflowSettings, WorkflowSettings
from tidegate.telemetry import count_blocked, count_starvation

M = TypeVar("M", bound=Message)


def _verb(path: str) -> Callable[..., Any]:
    """Return a verb by its path in the package; without a colon, it is named as its module is.

    The module is imported when the verb is first called: a function imports only what it calls.
    """
    module, _, name = path.partition(":")

    def carry_out(ports: Ports, *asked: Any, **how: Any) -> Any:
        return getattr(import_module(f"tidegate.{module}"), name or module.rpartition(".")[2])(ports, *asked, **how)

    return carry_out


@dataclass(frozen=True, slots=True)
class Verb(Generic[M]):
    """The verb of a kind: its message is parsed and passed to the verb.

    A state machine's step returns its answer, or None if something else settles a task token. The result of a queue
    message's verb is logged.
    """

    message: type[M]
    carry_out: Callable[[Ports, M], Any]

    def take(self, ports: Ports, fields: Mapping[str, Any]) -> Any:
        return self.carry_out(ports, self.message.model_validate(fields))


@dataclass(frozen=True, slots=True)
class Queue:
    """How a function processes a queue, and the verb of each kind. ``name`` is that of its capability.

    ``how``: in any order; ``held``, which also returns soon if the function dies; ``in order``, group by group.
    Failures that are not ``soon`` use the queue's own delay. Of equal messages of a batch, ``once`` processes one.
    """

    name: str
    how: Literal["any", "held", "in order"]
    verbs: Mapping[str, Verb[Any]]
    soon: bool = True
    once: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """The verb of an EventBridge event, which gets its detail. ``name`` is that of its capability."""

    name: str
    carry_out: Callable[[Ports, Mapping[str, Any]], object]


def _events(message: type[Event], verbs: Mapping[str, Callable[[Ports, Delivery], object]]) -> dict[str, Verb[Any]]:
    """Return the rows of kinds of stored deliveries, whose verbs take the delivery."""

    def row(verb: Callable[[Ports, Delivery], object]) -> Verb[Event]:
        return Verb(
            message,
            lambda ports, event: verb(ports, Delivery(event.delivery, event.kind, event.fields, event.received_at)),
        )

    return {kind: row(verb) for kind, verb in verbs.items()}


def _discover_pull_request(ports: Ports, asked: DiscoverPullRequest) -> PullRequestDiscovered:
    found, layers = _verb("pull_requests.discover_pull_request")(ports, asked.pull_request, asked.revision)
    return PullRequestDiscovered(next=found, layers=tuple(layers))


def _publish_pull_request(ports: Ports, asked: PublishPullRequest) -> PullRequestPublished:
    what = asked.pull_request, asked.revision, asked.error or "", asked.cause or ""
    return PullRequestPublished(outcome=_verb("pull_requests.publish_pull_request:ask_for_publication")(ports, *what))


def _discover_drift(ports: Ports, asked: DiscoverDrift) -> DriftDiscovered:
    following, layers = _verb("drift.discover_drift")(ports, asked.repository, asked.schedule, asked.execution)
    return DriftDiscovered(next=following, layers=layers)


def _claim_update(ports: Ports, asked: ClaimUpdate) -> UpdateClaimed:
    claimed: UpdateClaimed = _verb("config_updates.queue.claim_update")(ports, asked)
    if claimed.outrun:
        count_starvation(asked.repository, claimed.outrun)
    if claimed.blocked:
        count_blocked(asked.repository, claimed.reason)
    return claimed


def _conclude_drift(ports: Ports, asked: ConcludeDrift) -> DriftConcluded:
    run = asked.repository, asked.schedule, asked.execution
    if asked.error:
        return DriftConcluded(
            summary=_verb("drift.conclude_drift:fail_drift")(ports, *run, asked.error, asked.cause or "")
        )
    return DriftConcluded(summary=_verb("drift.conclude_drift")(ports, *run))


def _publish_revision(ports: Ports, asked: PublishRevision) -> object:
    return _verb("pull_requests.publish_pull_request")(
        ports, asked.pull_request, asked.revision, asked.error, asked.cause
    )


def _publish_deployment(ports: Ports, asked: PublishDeployment) -> None:
    how = asked.model_dump(exclude={"kind", "deployment"})
    _verb("check_runs.publish_check_run")(ports, asked.deployment, **how)


def _release_queue(ports: Ports, detail: Mapping[str, Any]) -> None:
    """Release the queue of a deploy execution, or of a config repository's worker, or what a cluster's workflow holds.

    A Terraform execution is caught by the deploy execution above it.
    """
    machine = detail["stateMachineArn"]
    if machine == WorkflowSettings.from_env(ports.environ).deploy_machine:
        _verb("deploys.queue.execution_closed:release_queue")(ports, read_execution(detail))
    elif machine == UpdateWorkflowSettings.from_env(ports.environ).worker_machine:
        _verb("config_updates.queue.close_worker:release_update_queue")(ports, *read_update_execution(detail))
    else:
        _release_cluster(ports, machine, detail)


def _release_cluster(ports: Ports, machine: str, detail: Mapping[str, Any]) -> None:
    """A task's execution is caught by the workflow above it."""
    begins = ClusterWorkflowSettings.from_env(ports.environ).machines
    kind = machine.removeprefix(f"{begins}cluster-") if begins else ""
    if kind in {"", machine, "task"}:
        return
    workflow, name, status = read_cluster_execution(detail)
    if kind == "error":
        _verb("clusters.end_cluster:close_failed")(ports, workflow, name)
    else:
        _verb("clusters.end_cluster:release_stopped")(ports, workflow, status)


#: By function: docs/permissions.md lists their permissions. A step keeps its name for as long as a definition calls it.
STEPS: Mapping[str, Mapping[str, Verb[Any]]] = {
    "steps": {
        "claim_deployment": Verb(ClaimDeployment, _verb("deploys.queue.claim_deployment")),
        "close_worker": Verb(CloseWorker, _verb("deploys.queue.close_worker")),
        "record_plan": Verb(RecordPlan, _verb("jobs.record_plan")),
        "record_result": Verb(RecordResult, _verb("jobs.record_result")),
        "record_outcome": Verb(RecordOutcome, _verb("deploys.queue.record_outcome")),
        "start_on_lambda": Verb(StartOnLambda, _verb("jobs.start_on_lambda")),
        "publish_pull_request": Verb(PublishPullRequest, _publish_pull_request),
        "fail_replay": Verb(FailReplay, _verb("config_updates.queue.push_replay:fail_replay")),
        "close_update_worker": Verb(CloseUpdateWorker, _verb("config_updates.queue.close_worker:close_update_worker")),
        "stall_promotion": Verb(StallPromotion, _verb("config_updates.promotions.promotion_steps:stall_promotion")),
        "end_soak": Verb(EndSoak, _verb("config_updates.promotions.promotion_steps:end_soak")),
        "fail_promotion": Verb(FailPromotion, _verb("config_updates.promotions.promotion_steps:fail_promotion")),
        "begin_cluster": Verb(BeginCluster, _verb("clusters.begin_cluster")),
        "begin_cluster_task": Verb(BeginClusterTask, _verb("clusters.cluster_tasks:begin_cluster_task")),
        "record_cluster_task": Verb(RecordClusterTask, _verb("clusters.cluster_tasks:record_cluster_task")),
        "fail_cluster_task": Verb(FailClusterTask, _verb("clusters.cluster_tasks:fail_cluster_task")),
        "end_cluster": Verb(EndCluster, _verb("clusters.end_cluster")),
        "fail_cluster": Verb(FailCluster, _verb("clusters.end_cluster:fail_cluster")),
        "end_failed_cluster": Verb(EndFailedCluster, _verb("clusters.end_cluster:end_failed_cluster")),
    },
    "forge_steps": {
        "validate_revision": Verb(ValidateRevision, _verb("deploys.queue.validate_revision")),
        "begin_job": Verb(BeginJob, _verb("jobs.begin_job")),
        "dispatch_job": Verb(DispatchJob, _verb("jobs.dispatch_job")),
        "evaluate_plan": Verb(EvaluatePlan, _verb("jobs.evaluate_policies_of_plan:evaluate_plan")),
        "conclude_drift": Verb(ConcludeDrift, _conclude_drift),
        "claim_update": Verb(ClaimUpdate, _claim_update),
        "begin_replay": Verb(BeginReplay, _verb("config_updates.queue.begin_replay")),
        "begin_promotion": Verb(BeginPromotion, _verb("config_updates.promotions.begin_promotion")),
    },
    "waits": {
        "wait_for_signal": Verb(WaitForSignal, _verb("deploys.queue.wait_for_signal")),
        "wait_at_gate": Verb(WaitAtGate, _verb("gates.wait_at_gate")),
        "wait_for_slot": Verb(WaitForSlot, _verb("deploys.slots.wait_for_slot")),
        "request_review": Verb(RequestReview, _verb("deploys.reviews.request_review")),
        "wait_for_update": Verb(WaitForUpdate, _verb("config_updates.queue.wait_for_update")),
        "wait_in_promotion": Verb(
            WaitInPromotion, _verb("config_updates.promotions.promotion_steps:wait_in_promotion")
        ),
    },
    "wait_for_requirements": {
        "wait_for_requirements": Verb(WaitForRequirements, _verb("gates.wait_for_requirements")),
    },
    "workers": {
        "continue_as_new": Verb(ContinueAsNew, _verb("deploys.queue.continue_as_new")),
        "continue_updates": Verb(ContinueUpdates, _verb("config_updates.queue.close_worker:continue_updates")),
        "promote_entry": Verb(PromoteEntry, _verb("config_updates.promotions.promote_entry")),
    },
    "git_steps": {
        "discover_pull_request": Verb(DiscoverPullRequest, _discover_pull_request),
        "discover_drift": Verb(DiscoverDrift, _discover_drift),
        "push_replay": Verb(PushReplay, _verb("config_updates.queue.push_replay")),
        "push_untested": Verb(PushUntested, _verb("config_updates.queue.push_untested")),
        "land_update": Verb(LandUpdate, _verb("config_updates.queue.land_update")),
    },
    "pull_request_steps": {
        "begin_speculative_plan": Verb(BeginSpeculativePlan, _verb("pull_requests.begin_speculative_plan")),
        "wait_for_plan_slot": Verb(WaitForPlanSlot, _verb("deploys.slots.wait_for_plan_slot")),
        "record_speculative_plan": Verb(RecordSpeculativePlan, _verb("pull_requests.record_speculative_plan")),
    },
    "check_policies": {
        "check_policies": Verb(CheckPolicies, _verb("policies.check_policies")),
    },
}
_POSITIONS = Queue(
    "refresh_positions",
    "any",
    {
        "refresh_positions": Verb(
            RefreshPositions, lambda ports, asked: _verb("deploys.queue.refresh_positions")(ports, asked.queue)
        )
    },
    soon=False,  # Positions move soon again.
)
#: By function, and by the variable with the queue's URL.
QUEUES: Mapping[str, Mapping[str, Queue]] = {
    "discover_roots": {
        "TIDEGATE_DISCOVERY_QUEUE": Queue(
            "discover_roots",
            "held",
            _events(
                DiscoveryEvent,
                {
                    "push": _verb("pushes.receive_push"),
                    "head": _verb("pushes.receive_push"),
                    "issue_comment": _verb("comments.receive_comment"),
                    "manual": _verb("requests.receive_request"),
                    "rerun": _verb("requests.rerun:rerun_check"),
                    "check_suite": _verb("requests.rerun:rerun_suite"),
                    "replan": _verb("comments.plan_by_rerun"),
                    "retry": _verb("gates.retry_blocked"),
                    "pull_request": _verb("pull_requests.receive_pull_request"),
                    "pull_request_review": _verb("pull_requests.receive_pull_request"),
                    "merge_group": _verb("pull_requests.receive_pull_request"),
                    "drift": _verb("drift.receive_drift"),
                    "detect_drift": _verb("drift.detect_drift_now:rerun_drift"),
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
                    "check_run": lambda ports, event: _verb("requests.answer_button")(ports, read_click(event)),
                    "checks": _verb("config_updates.receive_checks"),
                    "decision": _verb("comments.decide_by_comment"),
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
                "publish_layer": Verb(
                    PublishLayer,
                    lambda ports, asked: _verb("pull_requests.pull_request_checks:show_layer")(ports, asked.layer),
                ),
                "publish_progress": Verb(
                    PublishProgress,
                    lambda ports, asked: _verb("pull_requests.pull_request_checks:show_progress")(
                        ports, asked.pull_request, asked.not_before
                    ),
                ),
                "publish_revision": Verb(PublishRevision, _publish_revision),
                "publish_entry": Verb(
                    PublishEntry,
                    lambda ports, asked: _verb("config_updates.publish_entry")(
                        ports, asked.repository, asked.entry, asked.notice
                    ),
                ),
                "follow_apply": Verb(
                    FollowApply, lambda ports, asked: _verb("pull_requests.merge_applied")(ports, asked.pull_request)
                ),
                "publish_deploys": Verb(
                    PublishDeploys,
                    lambda ports, asked: _verb("pull_requests.show_deploys")(
                        ports, asked.pull_request, asked.not_before
                    ),
                ),
            },
        ),
    },
    "workers": {
        # The sender saved before it sent: one message of a batch covers all equal ones.
        "TIDEGATE_CHANGE_QUEUE": Queue(
            "open_gates",
            "in order",
            {
                "open_gates": Verb(OpenGates, lambda ports, asked: _verb("gates.open_gates")(ports, asked.change_set)),
                "give_slots": Verb(GiveSlots, _verb("deploys.slots.assign_plan_slots:assign_free_slots")),
                "follow_stacks": Verb(FollowStacks, _verb("config_updates.promotions.follow_stacks")),
                "follow_update": Verb(FollowUpdate, _verb("config_updates.promotions.follow_update")),
            },
            once=True,
        ),
    },
    "steps": {
        "TIDEGATE_POSITIONS_QUEUE": _POSITIONS,
        "TIDEGATE_POSITIONS_LATER_QUEUE": _POSITIONS,
        "TIDEGATE_NOTIFICATION_QUEUE": Queue(
            "notify",
            "any",
            {
                "deployment_changed": Verb(DeploymentChanged, _verb("notifications.receive_event:receive_deployment")),
                "review_expires_soon": Verb(ReviewExpiresSoon, _verb("notifications.receive_event:receive_expiring")),
                "queue_locked": Verb(QueueLocked, _verb("notifications.receive_event:receive_lock")),
                "drift_found": Verb(DriftFound, _verb("notifications.receive_event:receive_drift")),
                "deliver": Verb(DeliverNotification, _verb("notifications.deliver")),
            },
        ),
    },
}
#: By function, and by an event's source and detail type. Whoever may put events on a bus may name the source
#: ``lambda``.
RULES: Mapping[str, Mapping[tuple[str, str], Rule]] = {
    "workers": {
        ("aws.states", "Step Functions Execution Status Change"): Rule("execution_closed", _release_queue),
    },
    "waits": {
        ("aws.ecs", "ECS Task State Change"): Rule(
            "runner_stopped",
            lambda ports, task: _verb("jobs.runner_stopped:report_stopped_runner")(ports, read_runner(task)),
        ),
        ("lambda", "Lambda Function Invocation Result - Failure"): Rule(
            "runner_stopped",
            lambda ports, record: _verb("jobs.runner_stopped:report_failed_call")(ports, *read_call(record)),
        ),
    },
}
