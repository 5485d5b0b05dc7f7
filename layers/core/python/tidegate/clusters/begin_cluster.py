"""Begin the workflow of a cluster: lock it. A repeated call changes nothing and returns the same."""

from __future__ import annotations

from dataclasses import replace

from tidegate.clusters.related import related_clusters
from tidegate.clusters.rules.ending import is_begun
from tidegate.clusters.rules.execution_refusals import MachineChanged
from tidegate.clusters.rules.locking import check_relations, locked
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.record import ClusterRecord, current_of
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import Job
from tidegate.messages.clusters import BeginCluster, ClusterBegun
from tidegate.plans.rules.plan import Artifact
from tidegate.ports import Ports
from tidegate.rules.decide_again import deciding_again
from tidegate.rules.errors import ApplyAlreadyStarted, DeploymentCancelled


def with_known(ports: Ports, job: Job) -> Job:
    """Return the job that plans a cluster, with what is known of it. One that plans none stays as it is."""
    if job.run.cluster is None:
        return job
    all_ = related_clusters(ports, job.repository, job.run.cluster)
    by_name = {each.name: each for each in all_}
    record, above = by_name.get(job.run.cluster.name), by_name.get(job.run.cluster.management)
    return replace(
        job,
        current=current_of(record, all_) if record else None,
        begun=record is not None and is_begun(record),
        management=current_of(above, all_) if above else None,
    )


def begin_cluster(ports: Ports, message: BeginCluster) -> ClusterBegun:
    """Take the deployment's apply for this execution, so that it is known to have begun, and lock the cluster.

    Raise ClusterLocked and ClusterBusy, after which the call is repeated for some time; ResourcesHeld, WorkloadsLeft,
    MachineChanged, ClusterPlanAltered, and DeploymentCancelled.
    """
    deployment = ports.deployments.get(message.deployment)
    _take_apply(ports, message, deployment)
    artifact = plan_artifact(deployment)
    plan = ports.cluster_files.plan(artifact)
    if message.machine and plan.machine and message.machine != plan.machine:
        raise MachineChanged(plan.cluster.name)
    record = deciding_again(lambda: _lock(ports, message, deployment, plan, artifact))
    return ClusterBegun(fence=record.fence)


def plan_artifact(deployment: Deployment) -> Artifact:
    """Return where the reviewed plan of a cluster's deployment is."""
    assert deployment.planned.plan is not None  # noqa: S101  # What is applied has a plan.
    return deployment.planned.plan.file


def _take_apply(ports: Ports, message: BeginCluster, deployment: Deployment) -> None:
    """Take the apply's job as a runner does. Raise DeploymentCancelled if a cancellation has closed it."""
    job = deployment.apply.job or ""
    ports.jobs.hand_over(job, "", "")
    try:
        ports.jobs.take(job, f"cluster/{message.execution}")
    except ApplyAlreadyStarted as error:
        raise DeploymentCancelled(deployment.id) from error


def _lock(
    ports: Ports, message: BeginCluster, deployment: Deployment, plan: ClusterPlan, artifact: Artifact
) -> ClusterRecord:
    cluster, repository = plan.cluster, deployment.repository
    all_ = related_clusters(ports, repository, cluster)
    known = next((each for each in all_ if each.name == cluster.name), None)
    before = known or ClusterRecord(repository, cluster.name, cluster.kind, cluster.provider)
    after = locked(before, plan, artifact, message.deployment, message.execution, ports.clock.now())
    if after is before:
        return before
    check_relations(before, plan, all_)
    # Writing its management cluster's record, too, lets only one of two workflows of related clusters begin.
    related = (each for each in all_ if cluster.kind is ClusterKind.WORKLOAD and each.name == cluster.management)
    return ports.clusters.save(after, *related)[0]
