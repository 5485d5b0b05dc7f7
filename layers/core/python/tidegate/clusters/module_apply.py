"""The apply of a cluster's root module: an execution of the terraform machine that the workflow's task starts."""

from __future__ import annotations

import json
from dataclasses import replace

from tidegate.clusters.rules.record import ClusterRecord, Phase
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.failure import read_cause
from tidegate.deploys.rules.runner_size import took_too_long
from tidegate.deploys.stop_runner import stop_runner
from tidegate.messages import RecordResult, ResultRecorded
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again

_WITHOUT_RESULT = frozenset({"engine_fault", "outcome_unknown"})
_TIMEOUT = "States.Timeout"


def record_module_apply(ports: Ports, message: RecordResult) -> ResultRecorded:
    """Record how the apply of a root module ended, and return it. Its deployment ends with the workflow.

    Without a result, the outcome is unknown if a runner took the apply: then the cluster's record keeps that it is.
    """
    deployment = ports.deployments.get(message.deployment)
    recorded = deciding_again(lambda: _record(ports, deployment, message))
    ports.event_publisher.progress_changed(deployment.id)
    return recorded


def _record(ports: Ports, deployment: Deployment, message: RecordResult) -> ResultRecorded:
    record = ports.clusters.cluster(deployment.repository, deployment.root.name)
    phase = _applying(record, message.workflow) if record else None
    if record is None or phase is None:  # The workflow has ended before, and has told what it knew.
        return ResultRecorded(state="outcome_unknown", end="unknown", error=message.error, cause=message.cause)
    cause = message.cause
    if message.error == _TIMEOUT and message.state == "outcome_unknown":
        stop_runner(ports, phase.apply)
        cause = json.dumps({"message": took_too_long(ports.jobs.get(phase.apply).seconds)})
    state = _state(ports, deployment, phase, message)
    ports.clusters.save(record.with_phase(replace(phase, applying=state == "outcome_unknown")))
    if state == "applied":
        return ResultRecorded(state=state)
    end = "unknown" if state == "outcome_unknown" else "apply failed"
    return ResultRecorded(state=state, end=end, error=message.error, cause=cause)


def _applying(record: ClusterRecord, workflow: str | None) -> Phase | None:
    """Return the task that a workflow with the lock applies the module for, or has."""
    if record.lock is None or record.lock.execution != workflow:
        return None
    return next((each for each in record.working.phases if each.apply), None)


def _state(ports: Ports, deployment: Deployment, phase: Phase, message: RecordResult) -> str:
    if message.state not in _WITHOUT_RESULT:
        return message.state
    if not ports.jobs.close(phase.apply):
        return "apply_failed"  # No runner had it, so nothing was applied.
    if deployment.outcome.cancelled and read_cause(message.cause).ended:
        return "apply_failed"  # The runner said so itself, and stored its state.
    return "outcome_unknown"


def is_outcome_unknown(ports: Ports, record: ClusterRecord) -> bool:
    """Tell whether the root module may have been applied without a result."""
    return any(each.applying and ports.jobs.close(each.apply) for each in record.working.phases)


def give_up(ports: Ports, phase: Phase | None) -> None:
    """Close the job of a task, and stop its runner.

    An apply runs until its time limit: without heartbeats, its engine may still work.
    """
    if phase is None or not phase.job:
        return
    ports.jobs.close(phase.job)
    if phase.job != phase.apply:
        stop_runner(ports, phase.job)
