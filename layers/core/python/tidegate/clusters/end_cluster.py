"""End the workflow of a cluster: what the cluster is now, or what a failure leaves. Repeated calls return the same."""

from __future__ import annotations

from typing import Literal

from tidegate.clusters.module_apply import give_up, is_outcome_unknown
from tidegate.clusters.rules.ending import completed, given_up, innermost, with_first_error
from tidegate.clusters.rules.locking import check_lock
from tidegate.clusters.rules.plan import PlannedHook
from tidegate.clusters.rules.progress import releases_due
from tidegate.clusters.rules.record import ClusterRecord, PhaseState
from tidegate.deploys.rules.failure import KEPT_MESSAGE, in_words, read_cause
from tidegate.messages.clusters import (
    ClusterFailed,
    EndCluster,
    EndFailedCluster,
    FailCluster,
    FailedClusterEnded,
    NamedHook,
    OfCluster,
)
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again

#: Characters of an execution's name that another one's begins with; Step Functions allows 80.
_NAME = 60


def end_cluster(ports: Ports, message: EndCluster) -> None:
    """Record what the cluster is now, and unlock it. Raise StaleFence."""
    deciding_again(lambda: _end(ports, message))


def _end(ports: Ports, message: EndCluster) -> None:
    record, name = _record(ports, message)
    if record is not None and record.lock is None and record.working.execution == message.execution:
        return
    record = check_lock(record, name, message.execution)
    plan = ports.cluster_files.plan(record.working.plan)
    values = ports.clusters.context(record.repository, record.name, message.deployment)
    ports.clusters.save(completed(record, plan, values, ports.clock.now()))


def _record(ports: Ports, message: OfCluster) -> tuple[ClusterRecord | None, str]:
    deployment = ports.deployments.get(message.deployment)
    return ports.clusters.cluster(deployment.repository, deployment.root.name), deployment.root.name


def fail_cluster(ports: Ports, message: FailCluster) -> ClusterFailed:
    """Record the first error, end what still runs, and return what follows.

    Nothing follows for an execution that does not have the lock: it has taken nothing.
    """
    return deciding_again(lambda: _fail(ports, message))


def _fail(ports: Ports, message: FailCluster) -> ClusterFailed:
    record = _locked(ports, message)
    if record is None:
        return ClusterFailed(on_error=(), releases=(), always=())
    for phase in record.working.phases:
        if phase.state is PhaseState.RUNNING:
            give_up(ports, phase)
    error, cause = innermost(message.error, message.cause)
    words = in_words(error, read_cause(cause))[:KEPT_MESSAGE]
    after = with_first_error(record, error, words, ports.clock.now())
    if after != record:
        ports.clusters.save(after)
    plan = ports.cluster_files.plan(record.working.plan)
    return ClusterFailed(on_error=_named(plan.on_error), releases=releases_due(after, plan), always=_named(plan.always))


def _locked(ports: Ports, message: OfCluster) -> ClusterRecord | None:
    """Return the record if this execution has the lock."""
    record, _ = _record(ports, message)
    if record is None or record.lock is None or record.lock.execution != message.execution:
        return None
    return record


def _named(hooks: tuple[PlannedHook, ...]) -> tuple[NamedHook, ...]:
    return tuple(NamedHook(hook=each.name, registrar=each.registrar) for each in hooks)


def end_failed_cluster(ports: Ports, message: EndFailedCluster) -> FailedClusterEnded:
    """Unlock the cluster, and return the first error."""
    return deciding_again(lambda: _end_failed(ports, message))


def _end_failed(ports: Ports, message: EndFailedCluster) -> FailedClusterEnded:
    record, _ = _record(ports, message)
    if record is None or record.working.execution != message.execution or record.working.first_error is None:
        return FailedClusterEnded(error=message.error, cause=message.cause)
    if record.lock is not None:
        ports.clusters.save(given_up(record, ports.clock.now()))
    first = record.working.first_error
    state: Literal["failed", "unknown"] = "unknown" if is_outcome_unknown(ports, record) else "failed"
    return FailedClusterEnded(state=state, error=first.error, cause=first.cause)


def release_stopped(ports: Ports, message: OfCluster, status: str) -> None:
    """Start what gives back what a workflow holds that failed, was stopped or timed out, if it has the lock."""
    if _locked(ports, message) is not None:
        name = error_execution(message.execution)
        cause = f"The execution of the workflow ended as {status}."
        ports.cluster_workflows.start_error(name, message.deployment, message.execution, f"Execution.{status}", cause)


def error_execution(execution: str) -> str:
    """Return the name of the execution that handles the error of a stopped workflow."""
    return f"{execution[:_NAME]}-error"


def close_failed(ports: Ports, message: OfCluster, error_handling: str) -> None:
    """Unlock a cluster whose error handling ended before its last state. What is held stays so.

    One that the workflow itself has started is none of this: the workflow's own end follows.
    """
    if error_handling != error_execution(message.execution):
        return

    def close() -> None:
        record = _locked(ports, message)
        if record is not None:
            ports.clusters.save(given_up(record, ports.clock.now()))

    deciding_again(close)
