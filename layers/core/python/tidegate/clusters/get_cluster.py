"""Read clusters for people: what each is, who works on it, and how far its workflow is. Read-only."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.clusters.operate import cluster_record
from tidegate.clusters.rules.ending import may_release, may_resume
from tidegate.clusters.rules.execution_refusals import ClusterPlanAltered
from tidegate.clusters.rules.overview import ClusterState, WorkflowOverview, cluster_state, workflow_overview
from tidegate.clusters.rules.plan import ClusterPlan
from tidegate.clusters.rules.record import ClusterRecord, ClusterRun, workloads_of
from tidegate.clusters.rules.shown_context import ShownValue, shown_context
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.deploys.rules.deployment import Deployment
from tidegate.ports import Ports
from tidegate.rules.decision import Decision
from tidegate.rules.errors import NotFound


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster. ``plan`` and ``workflow`` are those that run, or ran last; the plan expires with its deployment's.

    ``resume`` and ``release`` say whether its record allows that, and why not. Whether the execution that has the lock
    still runs, which forbids a release, is asked only when somebody wants one.
    """

    record: ClusterRecord
    state: ClusterState
    workloads: tuple[str, ...] = ()
    plan: ClusterPlan | None = None
    workflow: WorkflowOverview | None = None
    context: tuple[ShownValue, ...] = ()

    @property
    def resume(self) -> Decision:
        return may_resume(self.record)

    @property
    def release(self) -> Decision:
        return may_release(self.record, runs=False)


def get_clusters(ports: Ports, repository: str) -> list[ClusterView]:
    """Return the clusters of a repository that a workflow has ever worked on, management clusters first."""
    all_ = tuple(ports.clusters.clusters(repository))
    views = [ClusterView(each, cluster_state(each), workloads_of(each, all_)) for each in all_]
    return sorted(views, key=lambda view: (view.record.kind is ClusterKind.WORKLOAD, view.record.name))


def get_cluster(ports: Ports, repository: str, name: str) -> ClusterView:
    """Return a cluster. Raise NoCluster."""
    record = cluster_record(ports, repository, name)
    workloads = workloads_of(record, tuple(ports.clusters.clusters(repository)))
    if record.run is None:
        return ClusterView(record, cluster_state(record), workloads)
    plan, values = _plan(ports, record.run), ports.clusters.context(repository, name, record.run.deployment)
    overview = workflow_overview(record.run, plan)
    return ClusterView(record, cluster_state(record), workloads, plan, overview, shown_context(values))


def workflow_of(ports: Ports, deployment: Deployment) -> tuple[ClusterRecord, WorkflowOverview] | None:
    """Return the cluster and the workflow that carry out a deployment; None if a later workflow has begun."""
    record = ports.clusters.cluster(deployment.repository, deployment.root.name)
    if record is None or record.run is None or record.run.deployment != deployment.id:
        return None
    return record, workflow_overview(record.run, _plan(ports, record.run))


def _plan(ports: Ports, run: ClusterRun) -> ClusterPlan | None:
    try:
        return ports.cluster_files.plan(run.plan)
    except (NotFound, ClusterPlanAltered):
        return None
