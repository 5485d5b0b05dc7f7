"""Clusters: their records, and the files and executions of their workflows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # Functions import this, and their starts count.
    from tidegate.clusters.rules.order import TaskOrder, TaskResult
    from tidegate.clusters.rules.plan import ClusterPlan
    from tidegate.clusters.rules.record import Checkpoint, ClusterRecord
    from tidegate.plans.rules.plan import Artifact


class ClusterStore(Protocol):
    """The records of a repository's clusters. An unwritten one has version 0."""

    def cluster(self, repository: str, name: str) -> ClusterRecord | None:
        """Return a cluster's record, consistently; None if there is none."""

    def clusters(self, repository: str) -> Sequence[ClusterRecord]:
        """Return the records of all clusters, consistently, by name."""

    def save(self, *records: ClusterRecord) -> Sequence[ClusterRecord]:
        """Replace records of one repository if all still have their versions; return them with the new ones.

        Raise Conflict if one has changed, and save none then.
        """

    def context(self, repository: str, name: str, deployment: str) -> Mapping[str, str]:
        """Return the values of the context of a deployment's workflow, consistently."""

    def keep_values(self, repository: str, name: str, deployment: str, values: Mapping[str, str]) -> None:
        """Store values of the context; they replace earlier ones."""

    def checkpoint(self, repository: str, name: str, key: str) -> Checkpoint | None:
        """Return a checkpoint, consistently; None if there is none. They are kept for 90 days."""

    def keep_checkpoint(self, repository: str, name: str, key: str, checkpoint: Checkpoint) -> None:
        """Store a checkpoint; it replaces the one before."""

    def drop_checkpoints(self, repository: str, name: str, keys: Collection[str]) -> None:
        """Delete checkpoints, if they exist."""


class ClusterFiles(Protocol):
    """Plans of workflows, and what runners are asked to do and have done, in the bucket."""

    def plan(self, artifact: Artifact) -> ClusterPlan:
        """Return a stored plan. Raise NotFound, and ClusterPlanAltered if it is another than this one."""

    def keep_order(self, job: str, order: TaskOrder) -> Artifact:
        """Store what a job is to do, and return where."""

    def result(self, job: str) -> TaskResult:
        """Return what became of it. Raise NotFound if the runner has not come to its end."""


class ClusterWorkflows(Protocol):
    """Executions of the machines of clusters. An existing one counts as started."""

    def start_error(self, execution: str, deployment: str, of: str, error: str, cause: str) -> None:
        """Start the machine ``cluster-error`` for the workflow's execution ``of``, which failed with this error."""

    def is_running(self, machine: str, execution: str) -> bool:
        """Tell whether an execution of a machine, such as ``cluster-workload-create-terraform``, is running."""
