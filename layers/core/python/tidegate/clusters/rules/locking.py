"""Who may work on a cluster, and with what."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tidegate.clusters.rules.execution_refusals import (
    ClusterBusy,
    ClusterLocked,
    ResourcesHeld,
    StaleFence,
    WorkloadsLeft,
)
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.record import (
    ClusterRecord,
    ClusterRun,
    Identity,
    Lock,
    identity_of,
    workloads_of,
)
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.plans.rules.plan import Artifact


def locked(
    record: ClusterRecord, plan: ClusterPlan, artifact: Artifact, deployment: str, execution: str, at: datetime
) -> ClusterRecord:
    """Return the record with a lock for this execution. One that has it keeps it.

    Raise ClusterLocked, and ResourcesHeld if a failed workflow holds something and this is not its repetition.
    """
    if record.lock and record.lock.execution == execution:
        return record
    if record.lock:
        raise ClusterLocked(
            f"{record.name} is locked: the deployment {record.lock.deployment} works on it. "
            "Deploy again after its end. If its execution is gone, release the cluster: "
            f"tidegate cluster release {record.repository} {record.name}"
        )
    identity = identity_of(plan)
    if problem := held_problem(record, identity):
        raise ResourcesHeld(problem)
    fence = record.fence + 1
    return replace(
        record,
        kind=plan.cluster.kind,
        provider=plan.cluster.provider,
        management=plan.cluster.management,
        exists=True,
        fence=fence,
        lock=Lock(deployment, execution, fence, at),
        run=ClusterRun(deployment, execution, plan.workflow.name, artifact, identity, at),
    )


def held_problem(record: ClusterRecord, identity: Identity) -> str:
    """Return why a plan may not begin as long as a failed workflow holds something, empty if it may."""
    if not record.held or record.run is None or record.run.identity == identity:
        return ""
    names = ", ".join(each.name for each in record.held)
    changed = "its file or declaration" if record.run.identity.spec_hash != identity.spec_hash else "its plan"
    return (
        f"The failed {record.run.workflow} of {record.name} (deployment {record.run.deployment}) still holds {names}, "
        f"and {changed} has changed since: its steps cannot be resumed with another plan. Restore it to resume, or "
        f"start over: tidegate cluster release {record.repository} {record.name}"
    )


def check_relations(record: ClusterRecord, plan: ClusterPlan, all_: tuple[ClusterRecord, ...]) -> None:
    """Raise ClusterBusy if a related cluster is being worked on, and WorkloadsLeft.

    A workflow of a management cluster may pause its workload clusters, and moves what makes them.
    """
    if plan.cluster.kind is ClusterKind.WORKLOAD:
        related = [each for each in all_ if each.name == plan.cluster.management]
    else:
        related = [each for each in all_ if each.management == record.name]
    for each in related:
        if each.lock:
            raise ClusterBusy(
                f"{each.name} is related to {record.name}, and the deployment {each.lock.deployment} works on it. "
                f"Deploy {record.name} again after its end."
            )
    left = workloads_of(record, all_) if plan.workflow.operation is Operation.DELETE else ()
    if left and plan.cluster.kind is ClusterKind.MANAGEMENT:
        raise WorkloadsLeft(
            f"{record.name} still manages {', '.join(left)}, which nothing could change or delete without it. Delete "
            "these first."
        )


def check_lock(record: ClusterRecord | None, name: str, execution: str) -> ClusterRecord:
    """Return the record if this execution has the lock. Raise StaleFence."""
    if record is None or record.lock is None or record.lock.execution != execution:
        holder = f"the execution {record.lock.execution} has" if record and record.lock else "nobody has"
        raise StaleFence(f"The execution {execution} no longer has the lock of {name}: {holder} it. Nothing was done.")
    return record
