"""The workflows of clusters: one for each kind of cluster and each operation on it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tidegate.deploys.rules.cluster import ClusterKind, ProviderName


class Operation(StrEnum):
    """What is done to a cluster. ``upgrade-components`` leaves the cluster itself as it is."""

    CREATE = "create"
    UPGRADE = "upgrade"
    UPGRADE_COMPONENTS = "upgrade-components"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow, such as ``management-create``."""

    kind: ClusterKind
    operation: Operation

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.operation}"


def machine_name(workflow: Workflow, provider: ProviderName) -> str:
    """Return the name of the state machine of a workflow, without the installation's prefix."""
    return f"cluster-{workflow.name}-{provider}"


WORKFLOWS = (
    *(Workflow(ClusterKind.MANAGEMENT, operation) for operation in Operation),
    *(
        Workflow(ClusterKind.WORKLOAD, operation)
        for operation in (Operation.CREATE, Operation.UPGRADE, Operation.DELETE)
    ),
)
