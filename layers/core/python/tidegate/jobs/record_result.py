"""Record how a deployment ended, publish it, and audit it if an apply had begun.

A deployment that has ended stays unchanged, and is published again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from tidegate.clusters.module_apply import record_module_apply
from tidegate.deploys.finish import finish
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.failure import KEPT_LAST_LINES, Failure, in_words, read_cause
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.provider_time import kept_providers
from tidegate.deploys.rules.review import missing_approvals
from tidegate.deploys.rules.runner_size import took_too_long
from tidegate.deploys.rules.state import State, ends_without_result, is_final
from tidegate.deploys.slots.keep_slots import release_slot
from tidegate.deploys.stop_runner import GIVEN_UP, stop_runner
from tidegate.messages import RecordResult, ResultRecorded
from tidegate.plans.rules.engine_errors import first_error
from tidegate.ports import Ports
from tidegate.rules.errors import GateBlocked

#: States in which no result arrives any more: the ending depends on whether a runner took the apply.
_WITHOUT_RESULT = frozenset({State.ENGINE_FAULT, State.OUTCOME_UNKNOWN})
#: States whose cause is what the engine printed first.
_OF_THE_ENGINE = frozenset({State.PLAN_FAILED, State.APPLY_FAILED})
#: What the state machine follows instead of an unknown outcome or an internal error.
_ENDS: Mapping[State, Literal["cancelled", "apply failed"]] = {
    State.CANCELLED: "cancelled",
    State.APPLY_FAILED: "apply failed",
}


def record_result(ports: Ports, message: RecordResult) -> ResultRecorded:
    """End the deployment, as first decided; the apply of a cluster's root module ends none.

    Raise Conflict, or CloudUnavailable if the audit topic does not accept the message: try again.
    """
    if message.workflow is not None:
        return record_module_apply(ports, message)
    deployment = ports.deployments.get(message.deployment)
    if not is_final(deployment.state):
        _stop_runner(ports, deployment, message.error)
        apply = replace(deployment.apply, providers=kept_providers(message.providers))
        ended = finish(ports, replace(deployment, apply=apply), _ending(ports, deployment, message))
        deployment = ports.deployments.save(ended)
    release_slot(ports, deployment.id)
    ports.event_publisher.changed(deployment)
    asked: Literal["unknown", "recorded"] = "unknown" if message.state == "outcome_unknown" else "recorded"
    return ResultRecorded(state=deployment.state.value, end=_ENDS.get(deployment.state, asked))


def _stop_runner(ports: Ports, deployment: Deployment, error: str | None) -> None:
    """Stop an abandoned plan. An apply runs until its time limit: without heartbeats its engine may still work."""
    if deployment.state is State.PLANNING and error in GIVEN_UP:
        stop_runner(ports, deployment.planned.job)
    if deployment.state is State.APPLYING and error == "States.Timeout":
        stop_runner(ports, deployment.apply.job)


def _ending(ports: Ports, deployment: Deployment, message: RecordResult) -> Ending:
    failure = read_cause(message.cause)
    state = State(message.state)
    if state in _WITHOUT_RESULT:
        taken = deployment.apply.job is not None and ports.jobs.close(deployment.apply.job)
        state = ends_without_result(deployment.state, apply_was_taken=taken)
        if deployment.outcome.cancelled and failure.ended:  # The runner said so itself, and stored its state.
            state = State.APPLY_FAILED
    last_lines = (message.last_lines or failure.last_lines)[-KEPT_LAST_LINES:]
    reason = _reason(deployment, state, message, _in_time(ports, deployment, state, message, failure))
    first = first_error(last_lines) if state in _OF_THE_ENGINE else ""
    reason = f"{first}: {reason}" if first and reason else reason
    return Ending(state, reason, message.error or "", last_lines, ports.clock.now())


def _in_time(ports: Ports, deployment: Deployment, state: State, message: RecordResult, failure: Failure) -> Failure:
    """Return the failure; for an apply that exceeded its time limit, with the limit and what to do."""
    if state is not State.OUTCOME_UNKNOWN or message.error != "States.Timeout" or deployment.apply.job is None:
        return failure
    return replace(failure, message=took_too_long(ports.jobs.get(deployment.apply.job).seconds))


def _reason(deployment: Deployment, state: State, message: RecordResult, failure: Failure) -> str:
    if state is State.REVIEW_EXPIRED:
        return _expired(deployment)
    if state is State.GATE_EXPIRED:
        return failure.message if message.error == GateBlocked.__name__ else deployment.reason
    if message.error is None or state is State.APPLIED:
        return ""
    words = in_words(message.error, failure)
    by = deployment.outcome.cancelled
    return words if by is None else f"{by.by} cancelled it during its apply. {words}"


def _expired(deployment: Deployment) -> str:
    """Return the text for an expired review: who answered, but too late."""
    review = deployment.review
    if review is not None and review.approved is not None:
        return f"The decision by {review.by} came after the review had expired."
    if review is not None and review.approvals:
        given = ", ".join(approval.by for approval in review.approvals)
        return f"Approved by {given}. Missing approvals: {missing_approvals(deployment)}."
    return ""
