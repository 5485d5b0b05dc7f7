"""The context of a workflow: what its tasks hand to later ones and to hooks, typed for each workflow and operation.

Values are stored by their keys, as texts: references and names, never secrets. Tasks and hooks read them through the
properties of the class in ``CONTEXTS``, which refuse what no task has produced yet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from tidegate.clusters.rules.plan import VersionChange
from tidegate.clusters.rules.refusals import NotInContext
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind


class Key(StrEnum):
    """What tasks produce. Hooks may add keys of their own."""

    BOOTSTRAP = "bootstrap-cluster"
    MANAGEMENT = "management-cluster"
    WORKLOAD = "workload-cluster"
    PAUSED_CLUSTERS = "paused-clusters"
    PAUSED_GITOPS = "paused-gitops"
    BACKUP = "backup"
    DIFF = "diff"


#: The key of the cluster that a workflow is about, by its kind.
OWN_KEYS: Mapping[ClusterKind, Key] = {ClusterKind.MANAGEMENT: Key.MANAGEMENT, ClusterKind.WORKLOAD: Key.WORKLOAD}


class Access(StrEnum):
    """How a cluster's API server is reached.

    ``eks``: by a token that is made when needed. ``secret``: by the kubeconfig in a secret. ``simulated``: it has none.
    ``unknown``: nothing says how. Only a deletion of what is half made works on such a cluster.
    """

    EKS = "eks"
    SECRET = "secret"  # noqa: S105 a word
    SIMULATED = "simulated"
    UNKNOWN = "unknown"

    @property
    def has_api(self) -> bool:
        """Whether there is an API server to ask."""
        return self in {Access.EKS, Access.SECRET}


@dataclass(frozen=True, slots=True)
class ClusterReference:
    """How to reach a cluster: by ``access``, at ``place``: an EKS cluster's ARN or a secret's name. Never a secret."""

    name: str
    access: Access
    place: str = ""


def reference_text(reference: ClusterReference) -> str:
    """Return a reference as a value of the context."""
    return json.dumps(asdict(reference), separators=(",", ":"))


def reference_from(text: str) -> ClusterReference:
    """Return the reference of a value of the context."""
    fields = json.loads(text)
    return ClusterReference(fields["name"], Access(fields["access"]), fields["place"])


def names_text(names: tuple[str, ...]) -> str:
    """Return names, such as those of the clusters that are paused, as a value of the context."""
    return json.dumps(names, separators=(",", ":"))


def names_from(text: str) -> tuple[str, ...]:
    """Return the names of a value of the context."""
    return tuple(json.loads(text))


def diff_text(diff: tuple[VersionChange, ...]) -> str:
    """Return changes of versions as a value of the context."""
    return json.dumps([asdict(each) for each in diff], separators=(",", ":"))


def diff_from(text: str) -> tuple[VersionChange, ...]:
    """Return the changes of versions of a value of the context."""
    return tuple(VersionChange(**each) for each in json.loads(text))


_T = TypeVar("_T")


class _Value(Generic[_T]):
    """A property of a context: the value of ``key``, read by ``read``."""

    def __init__(self, key: Key, read: Callable[[str], _T]) -> None:
        self.key, self._read = key, read

    def __get__(self, context: Context, _owner: type[Context]) -> _T:
        return self._read(context.text(self.key))


class Context:
    """What a workflow has so far. ``values`` are texts by their keys, hooks' own among them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def text(self, key: str) -> str:
        """Return a value as it is stored. Raise NotInContext if nothing has produced it."""
        if key not in self._values:
            raise NotInContext(key, sorted(self._values))
        return self._values[key]

    def has(self, key: str) -> bool:
        """Tell whether something has produced a value: what on-error hooks and diagnostics ask first."""
        return key in self._values

    @classmethod
    def keys(cls) -> frozenset[Key]:
        """Return the keys that the tasks of this workflow may produce."""
        values = (value for owner in cls.__mro__ for value in vars(owner).values())
        return frozenset(value.key for value in values if isinstance(value, _Value))


class ManagementContext(Context):
    """Creation and deletion of a management cluster, from a bootstrap cluster where the provider needs one."""

    bootstrap_cluster = _Value(Key.BOOTSTRAP, reference_from)
    management_cluster = _Value(Key.MANAGEMENT, reference_from)


class ManagementUpgradeComponents(Context):
    """Upgrade of what makes clusters. ``diff`` is what changed, ``paused_gitops`` names the agent that is paused."""

    management_cluster = _Value(Key.MANAGEMENT, reference_from)
    paused_gitops = _Value(Key.PAUSED_GITOPS, str)
    diff = _Value(Key.DIFF, diff_from)


class ManagementUpgrade(ManagementUpgradeComponents):
    """Upgrade of a management cluster. ``backup`` is the key of the bundle in the artifact bucket."""

    bootstrap_cluster = _Value(Key.BOOTSTRAP, reference_from)
    paused_clusters = _Value(Key.PAUSED_CLUSTERS, names_from)
    backup = _Value(Key.BACKUP, str)


class WorkloadContext(Context):
    """Of all workflows of workload clusters. The management cluster is there only if the cluster names one."""

    management_cluster = _Value(Key.MANAGEMENT, reference_from)
    workload_cluster = _Value(Key.WORKLOAD, reference_from)


#: The context of each workflow.
CONTEXTS: Mapping[Workflow, type[Context]] = {
    Workflow(ClusterKind.MANAGEMENT, Operation.CREATE): ManagementContext,
    Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE): ManagementUpgrade,
    Workflow(ClusterKind.MANAGEMENT, Operation.UPGRADE_COMPONENTS): ManagementUpgradeComponents,
    Workflow(ClusterKind.MANAGEMENT, Operation.DELETE): ManagementContext,
    Workflow(ClusterKind.WORKLOAD, Operation.CREATE): WorkloadContext,
    Workflow(ClusterKind.WORKLOAD, Operation.UPGRADE): WorkloadContext,
    Workflow(ClusterKind.WORKLOAD, Operation.DELETE): WorkloadContext,
}
