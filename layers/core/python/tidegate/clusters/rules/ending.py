"""What a cluster is after a workflow, and what a failed one leaves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from tidegate.clusters.rules.context import OWN_KEYS
from tidegate.clusters.rules.plan import KUBERNETES, ClusterPlan
from tidegate.clusters.rules.record import ClusterRecord, FirstError, Lock, PhaseState
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import CurrentCluster
from tidegate.rules.decision import Decision

INTERRUPTED = "The workflow ended before it did."


def innermost(error: str, cause: str) -> tuple[str, str]:
    """Return the error and cause that a nested execution failed with: a cause may be the description of one."""
    try:
        said = json.loads(cause)
    except (ValueError, RecursionError):
        return error, cause
    match said:
        case {"ExecutionArn": _, "Error": str(inner), **more}:
            return innermost(inner, str(more.get("Cause", "")))
    return error, cause


def completed(record: ClusterRecord, plan: ClusterPlan, values: Mapping[str, str], at: datetime) -> ClusterRecord:
    """Return the record after a workflow that came to its end: what the cluster is, and no lock.

    ``values`` are those of the workflow's context: one is how to reach the cluster.
    """
    deleted = plan.workflow.operation is Operation.DELETE
    return replace(
        record,
        current=None if deleted else _made(record, plan, values),
        exists=not deleted,
        epoch=record.epoch + 1,
        lock=None,
        run=replace(record.working, ended_at=at),
    )


def _made(record: ClusterRecord, plan: ClusterPlan, values: Mapping[str, str]) -> CurrentCluster:
    before = record.current
    version = next((each.after for each in plan.versions if each.name == KUBERNETES), "")
    return CurrentCluster(
        version or (before.kubernetes if before else ""),
        plan.spec_hash,
        plan.cluster.provider,
        plan.provider_version,
        tuple((each.name, each.version) for each in plan.cluster.components),
        cluster_hash=plan.cluster_hash,
        reference=values.get(OWN_KEYS[plan.cluster.kind]) or (before.reference if before else ""),
    )


def with_first_error(record: ClusterRecord, error: str, cause: str, at: datetime) -> ClusterRecord:
    """Return the record of a failed workflow: its first error stays, and what still ran counts as failed."""
    run = record.working
    phases = tuple(
        replace(each, state=PhaseState.FAILED, ended_at=at, reason=INTERRUPTED)
        if each.state is PhaseState.RUNNING
        else each
        for each in run.phases
    )
    return record.with_run(replace(run, phases=phases, first_error=run.first_error or FirstError(error, cause, at)))


def given_up(record: ClusterRecord, at: datetime) -> ClusterRecord:
    """Return the record after the end of a failed workflow, with what it could not give back."""
    return replace(record, lock=None, run=replace(record.working, ended_at=record.working.ended_at or at))


def may_release(record: ClusterRecord, *, runs: bool) -> Decision:
    """Decide whether an operator may have everything given back that a failed workflow holds, to start over.

    ``runs`` tells whether the execution that has the lock is still running.
    """
    if record.lock and runs:
        return Decision(
            False,
            f"The deployment {record.lock.deployment} works on {record.name}. Cancel it, or wait for its end: no lock "
            "is taken from an execution that runs.",
        )
    if record.lock is None and not record.held and not has_failed(record):
        return Decision(False, f"{record.name} is not locked and holds nothing. Nothing was changed.")
    return Decision(True, f"{record.name} gives back what it holds. Its next workflow starts over.")


def may_resume(record: ClusterRecord) -> Decision:
    """Decide whether a failed workflow may be resumed: by a new deployment, which finds its checkpoints."""
    if record.lock:
        return Decision(False, f"The deployment {record.lock.deployment} works on {record.name}.")
    if not has_failed(record):
        return Decision(False, f"The last workflow of {record.name} has not failed: there is nothing to resume.")
    return Decision(True, f"{record.working.workflow} of {record.name} goes on where it failed.")


def has_failed(record: ClusterRecord) -> bool:
    """Tell whether the last workflow has failed, and nothing was given up since."""
    return record.run is not None and record.run.first_error is not None and not record.run.gives_up


def is_begun(record: ClusterRecord) -> bool:
    """Tell whether a workflow has failed on the way to something, or left a cluster half made."""
    return has_failed(record) or (record.exists and record.current is None)


def released(record: ClusterRecord, execution: str, error: FirstError) -> ClusterRecord:
    """Return the record locked by the execution that gives everything back. Checkpoints are of the past then."""
    fence, run = record.fence + 1, record.working
    run = replace(run, execution=execution, first_error=run.first_error or error, ended_at=None, gives_up=True)
    lock = Lock(run.deployment, execution, fence, error.at)
    return replace(record, fence=fence, epoch=record.epoch + 1, lock=lock, run=run)
