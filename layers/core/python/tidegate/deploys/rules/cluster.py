"""A cluster as ``tidegate.yaml`` declares it, and as it is known to be: the root of kind ``cluster``.

No pydantic here: the runner imports this module, and its start is part of every deploy.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ClusterKind(StrEnum):
    """A management cluster has the components that make clusters; a workload cluster runs a team's workloads."""

    MANAGEMENT = "management"
    WORKLOAD = "workload"


class ProviderName(StrEnum):
    """What makes the cluster.

    ``terraform``: a root module, such as one with an EKS cluster. ``existing``: nothing, the cluster is there and is
    adopted. ``command``: a program of the repository for each task. ``simulated``: nothing, for tests and the demo.
    """

    TERRAFORM = "terraform"
    EXISTING = "existing"
    COMMAND = "command"
    SIMULATED = "simulated"


class HookPoint(StrEnum):
    """When a hook runs: before or after a task or the workflow, once the workflow has failed, or at its end anyway."""

    BEFORE = "before"
    AFTER = "after"
    ON_ERROR = "on-error"
    ALWAYS = "always"


class HookFailure(StrEnum):
    """What a hook's failure means: the workflow fails, or it goes on with a warning."""

    FAIL = "fail"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class DeclaredHook:
    """A hook of the repository: a command in the runner's image, or a function that the installation lists.

    ``task`` is the id of a task, empty for the whole workflow. ``seconds`` is its time limit.
    """

    name: str
    point: HookPoint
    task: str = ""
    command: tuple[str, ...] = ()
    function: str = ""
    on_error: HookFailure = HookFailure.FAIL
    seconds: int = 900


class ComponentRole(StrEnum):
    """Which task installs a component."""

    NETWORKING = "networking"
    BOOTSTRAP = "bootstrap"
    MANAGEMENT = "management"
    WORKLOAD = "workload"
    CONFIGURATION = "configuration"
    PACKAGE = "package"


class ComponentForm(StrEnum):
    """What a component is made of."""

    MANIFESTS = "manifests"
    KUSTOMIZATION = "kustomization"
    CHART = "chart"


@dataclass(frozen=True, slots=True)
class DeclaredComponent:
    """A component: what is applied to the cluster from ``path`` in the repository, relative to its top.

    ``version`` is what people call it, and what an upgrade compares. ``values`` is a file of values for a chart.
    """

    name: str
    role: ComponentRole
    form: ComponentForm
    path: str
    version: str = ""
    namespace: str = ""
    values: str = ""
    seconds: int = 600


@dataclass(frozen=True, slots=True)
class DeclaredCluster:
    """A cluster of ``tidegate.yaml``. ``spec`` is its file, relative to the repository's top.

    ``management`` names the management cluster of a workload cluster, in the same repository, and ``management_spec``
    is that cluster's file, empty if it is to be destroyed.
    """

    name: str
    kind: ClusterKind
    provider: ProviderName
    spec: str
    management: str = ""
    components: tuple[DeclaredComponent, ...] = ()
    hooks: tuple[DeclaredHook, ...] = ()
    management_spec: str = ""


@dataclass(frozen=True, slots=True)
class CurrentCluster:
    """What the last completed workflow has made of a cluster. ``components`` are pairs of name and version.

    ``workloads`` are the clusters that a management cluster still has. ``spec_hash`` and ``cluster_hash`` are those of
    ``Spec``: all that it is made of, and that without its components (empty: not known, so taken as another).
    ``reference`` is how to reach it, as a value of the context (clusters/rules/context.py); empty: not known.
    """

    kubernetes: str
    spec_hash: str
    provider: ProviderName
    provider_version: str
    components: tuple[tuple[str, str], ...] = ()
    workloads: tuple[str, ...] = ()
    cluster_hash: str = ""
    reference: str = ""
