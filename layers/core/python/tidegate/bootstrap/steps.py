"""The steps that state machines ask functions for: one table, by function, from a message's kind to its verb."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tidegate.bootstrap import Bootstrap
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

M = TypeVar("M", bound=Message)


@dataclass(frozen=True, slots=True)
class Step(Generic[M]):
    """What a message asks for, and what does it. Where something else answers the token, the verb returns None."""

    message: type[M]
    verb: Callable[[Bootstrap, M], Message | None]

    def take(self, wires: Bootstrap, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Parse the fields of a message, call the verb, and return the fields of its answer."""
        answer = self.verb(wires, self.message.model_validate(fields))
        return {} if answer is None else answer.model_dump(mode="json")


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


#: By function: docs/permissions.md says what each may do. A step keeps its name for as long as a definition calls it.
STEPS: Mapping[str, Mapping[str, Step[Any]]] = {
    "steps": {
        "claim_deployment": Step(ClaimDeployment, lambda wires, asked: wires.deployment_claimer.claim(asked)),
        "close_worker": Step(CloseWorker, lambda wires, asked: wires.worker_closer.close(asked)),
        "record_plan": Step(RecordPlan, lambda wires, asked: wires.plan_recorder.record(asked)),
        "record_result": Step(RecordResult, lambda wires, asked: wires.result_recorder.record(asked)),
        "record_outcome": Step(RecordOutcome, lambda wires, asked: wires.outcome_recorder.record(asked)),
        "start_on_lambda": Step(StartOnLambda, lambda wires, asked: wires.lambda_starter.start(asked)),
        "publish_pull_request": Step(PublishPullRequest, _publish_pull_request),
    },
    "forge_steps": {
        "validate_revision": Step(ValidateRevision, lambda wires, asked: wires.revision_validator.validate(asked)),
        "begin_job": Step(BeginJob, lambda wires, asked: wires.job_beginner.begin(asked)),
        "hand_over_job": Step(HandOverJob, lambda wires, asked: wires.job_handover.hand_over(asked)),
        "judge_plan": Step(JudgePlan, lambda wires, asked: wires.held_plan_judge.judge(asked)),
        "conclude_drift": Step(ConcludeDrift, _conclude_drift),
    },
    "waits": {
        "wait_for_signal": Step(WaitForSignal, lambda wires, asked: wires.signal_waiter.wait(asked)),
        "wait_at_gate": Step(WaitAtGate, lambda wires, asked: wires.gate_waiter.wait(asked)),
        "wait_for_slot": Step(WaitForSlot, lambda wires, asked: wires.slot_waiter.wait(asked)),
        "request_review": Step(RequestReview, lambda wires, asked: wires.review_requester.request(asked)),
    },
    "wait_for_requirements": {
        "wait_for_requirements": Step(WaitForRequirements, lambda wires, asked: wires.requirements_gate.wait(asked)),
    },
    "workers": {
        "hand_over_worker": Step(HandOverWorker, lambda wires, asked: wires.worker_handover.hand_over(asked)),
    },
    "discovery_steps": {
        "discover_pull_request": Step(DiscoverPullRequest, _discover_pull_request),
        "discover_drift": Step(DiscoverDrift, _discover_drift),
    },
    "pull_request_steps": {
        "begin_speculation": Step(BeginSpeculation, lambda wires, asked: wires.speculation_beginner.begin(asked)),
        "wait_for_place": Step(WaitForPlace, lambda wires, asked: wires.place_waiter.wait(asked)),
        "record_speculation": Step(RecordSpeculation, lambda wires, asked: wires.speculation_recorder.record(asked)),
    },
    "check_policies": {
        "check_policies": Step(CheckPolicies, lambda wires, asked: wires.policy_checker.check(asked)),
    },
}
