"""The tasks of cluster workflows, as data: what each needs, produces and takes, and how long it may take.

A task does not choose its successor. Which tasks a workflow has is decided by ``tasks_of`` from what the provider can
do; whether one of them runs, by its ``fact`` of the declared and the current cluster (facts.py). Providers carry them
out, and each is idempotent: ``probe`` says by what it finds its own effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tidegate.clusters.rules.context import Key
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.deploys.rules.cluster import ClusterKind, ComponentRole


class Capability(StrEnum):
    """What a provider can do, and needs. Tasks that need one which it lacks are no part of its workflows.

    ``bootstrap``: it creates and deletes management clusters from a bootstrap cluster. ``bootstrap-upgrade``: it
    upgrades them from one as well, which others do in place. ``pivot``: it moves the objects of clusters between two.
    """

    BOOTSTRAP = "bootstrap"
    BOOTSTRAP_UPGRADE = "bootstrap-upgrade"
    PIVOT = "pivot"


class Resource(StrEnum):
    """What a task takes for a while, and another gives back."""

    BOOTSTRAP = "bootstrap-cluster"
    OTHER_CLUSTERS = "pause-of-other-clusters"
    GITOPS = "pause-of-gitops-agent"
    BACKUP = "backup"


class Fact(StrEnum):
    """What decides whether a task runs: facts.py has the rule of each."""

    ALWAYS = "always"
    CLUSTER_CHANGES = "cluster-changes"
    COMPONENTS = "components"
    GITOPS = "gitops"
    OTHER_CLUSTERS = "other-clusters"


@dataclass(frozen=True, slots=True)
class Task:
    """A task. ``title`` is the name of its state, ``contract`` one sentence on what is true after it.

    ``duty`` is what the provider does for it, ``errors`` what fails it. ``needs`` are keys of the context; ``uses`` are
    more of them, which it needs in workflows that have a task which produces them. ``role`` is that of the components
    it installs. ``seconds`` is its time limit without them, ``why`` the reason. ``kept`` is the reason why a failure
    does not run it, although it gives back what it ``releases``. ``checkpoint`` is False for what a resumed workflow
    does again.
    """

    id: str
    title: str
    contract: str
    duty: str
    probe: str
    errors: str
    seconds: int
    why: str
    needs: tuple[Key, ...] = ()
    uses: tuple[Key, ...] = ()
    produces: tuple[Key, ...] = ()
    acquires: Resource | None = None
    releases: Resource | None = None
    kept: str = ""
    capability: Capability | None = None
    fact: Fact = Fact.ALWAYS
    role: ComponentRole | None = None
    checkpoint: bool = True


_MINUTE = 60
_HOUR = 60 * _MINUTE

_VALIDATE = Task(
    id="validate",
    title="Validate the cluster",
    contract="The specification, the credentials and the clusters that it names are as the workflow expects them.",
    duty="Check its own part of the specification, its credentials and that the clusters answer. Change nothing.",
    probe="None: it runs again whenever the workflow is resumed.",
    errors="An unknown key, refused credentials, a cluster that does not answer, an upgrade that Kubernetes forbids.",
    seconds=5 * _MINUTE,
    why="A few questions to interfaces. An API server that takes longer would fail every later task.",
    checkpoint=False,
)
_CREATE_BOOTSTRAP = Task(
    id="create-bootstrap-cluster",
    title="Create the bootstrap cluster",
    contract="A temporary cluster answers, from which the management cluster is created, upgraded or deleted.",
    duty="Adopt or create the cluster where the specification says it lives, and return how to reach it.",
    probe="The cluster with this workflow's name exists and answers.",
    errors="It cannot be made where the specification says, or does not answer in time.",
    seconds=40 * _MINUTE,
    why="EKS makes a control plane and its first nodes in 15 to 20 minutes; twice that.",
    produces=(Key.BOOTSTRAP,),
    acquires=Resource.BOOTSTRAP,
    capability=Capability.BOOTSTRAP,
)
_INSTALL_BOOTSTRAP = Task(
    id="install-bootstrap-components",
    title="Install the bootstrap components",
    contract="The bootstrap cluster can make clusters: what the provider needs for that is ready on it.",
    duty="Install its own controllers there. Components of the role bootstrap are installed besides.",
    probe="Applying the same again changes nothing, and all of it is ready.",
    errors="An object that conflicts with another owner, or is not ready in time: its conditions are named.",
    seconds=20 * _MINUTE,
    why="Images are pulled on new nodes, and controllers wait for their certificates.",
    needs=(Key.BOOTSTRAP,),
    capability=Capability.BOOTSTRAP,
    role=ComponentRole.BOOTSTRAP,
)
_CREATE_MANAGEMENT = Task(
    id="create-management-cluster",
    title="Create the management cluster",
    contract="The management cluster exists as specified, and its API server answers.",
    duty="Turn the specification into what it makes clusters of, apply that, and wait until the cluster is ready.",
    probe="The cluster exists, and reports this specification as observed.",
    errors="What makes clusters fails or does not end in time, or the API server does not answer.",
    seconds=2 * _HOUR,
    why="A control plane takes up to 20 minutes and each group of nodes as long; machines of metal take an hour.",
    uses=(Key.BOOTSTRAP,),
    produces=(Key.MANAGEMENT,),
)
_NETWORKING = Task(
    id="install-networking",
    title="Install the networking",
    contract="Pods of the new cluster reach each other: the components of the role networking are ready.",
    duty="None, unless its clusters need more than these components.",
    probe="Applying the same again changes nothing, and all of it is ready.",
    errors="An object that conflicts with another owner, or is not ready in time: its conditions are named.",
    seconds=15 * _MINUTE,
    why="Nodes become ready once a network is there; then images are pulled.",
    fact=Fact.COMPONENTS,
    role=ComponentRole.NETWORKING,
)
_UPGRADE_NETWORKING = replace(
    _NETWORKING,
    id="upgrade-networking",
    title="Upgrade the networking",
    contract="The components of the role networking are ready in their new version, before nodes are replaced.",
    why="A network is replaced node by node.",
)
_INSTALL_MANAGEMENT = Task(
    id="install-management-components",
    title="Install the management components",
    contract="The management cluster can make clusters itself: all that is needed for that is there and ready.",
    duty="Install its own controllers there. Components of the role management are installed besides.",
    probe="Applying the same again changes nothing, and all of it is ready.",
    errors="An object that conflicts with another owner, or is not ready in time: its conditions are named.",
    seconds=20 * _MINUTE,
    why="Images are pulled on new nodes, and controllers wait for their certificates.",
    needs=(Key.MANAGEMENT,),
    role=ComponentRole.MANAGEMENT,
)
_PIVOT_TO_MANAGEMENT = Task(
    id="pivot-to-management",
    title="Pivot to the management cluster",
    contract="The management cluster owns the objects of all clusters; the bootstrap cluster owns none.",
    duty="Pause the objects, move each once, in the order of their owners, and unpause them at the target.",
    probe="The source has no object left that is to be moved, and none at the target is paused.",
    errors="An object that the target refuses. It stays paused at the source, and the next attempt goes on.",
    seconds=30 * _MINUTE,
    why="A few objects a second, and a network that fails is tried again until then, as half a move must be completed.",
    needs=(Key.BOOTSTRAP, Key.MANAGEMENT),
    capability=Capability.PIVOT,
)
_PIVOT_TO_BOOTSTRAP = replace(
    _PIVOT_TO_MANAGEMENT,
    id="pivot-to-bootstrap",
    title="Pivot to the bootstrap cluster",
    contract="The bootstrap cluster owns the objects of the management cluster, which may now be changed from outside.",
)
_CONFIGURATION = Task(
    id="install-configuration",
    title="Install the cluster's configuration",
    contract="The management cluster has what the user configures: the components of the role configuration.",
    duty="Add the objects that describe the cluster itself, if its clusters have such.",
    probe="Applying the same again changes nothing.",
    errors="An object that conflicts with another owner, or that the API server refuses.",
    seconds=10 * _MINUTE,
    why="Objects are applied and nothing new has to start.",
    needs=(Key.MANAGEMENT,),
    fact=Fact.COMPONENTS,
    role=ComponentRole.CONFIGURATION,
)
_DELETE_BOOTSTRAP = Task(
    id="delete-bootstrap-cluster",
    title="Delete the bootstrap cluster",
    contract="The bootstrap cluster is gone, or was never made; one that is adopted is left clean.",
    duty="Delete it, unless it still owns a cluster: then refuse and name that, as its objects would be lost.",
    probe="There is no such cluster.",
    errors="It still owns a cluster, which is named: the workflow is resumed, so that the objects are moved.",
    seconds=30 * _MINUTE,
    why="EKS deletes nodes and a control plane in 10 to 15 minutes; twice that.",
    uses=(Key.BOOTSTRAP,),
    releases=Resource.BOOTSTRAP,
    capability=Capability.BOOTSTRAP,
)
_BACK_UP = Task(
    id="back-up",
    title="Back up the management objects",
    contract="A bundle in the artifact bucket has all objects of clusters as they were before the upgrade.",
    duty="Read all objects that it makes clusters of, without secrets.",
    probe="The bundle of this deployment exists.",
    errors="Objects that cannot be read, or a bundle that cannot be stored.",
    seconds=20 * _MINUTE,
    why="Thousands of objects are read in pages of 500.",
    needs=(Key.MANAGEMENT,),
    produces=(Key.BACKUP,),
    acquires=Resource.BACKUP,
    fact=Fact.CLUSTER_CHANGES,
)
_DELETE_BACKUP = Task(
    id="delete-backup",
    title="Delete the backup",
    contract="The bundle is gone, as the upgraded cluster has taken its place.",
    duty="None.",
    probe="There is no such bundle.",
    errors="A bundle that is not of this cluster.",
    seconds=5 * _MINUTE,
    why="One object is deleted from the bucket.",
    needs=(Key.BACKUP,),
    releases=Resource.BACKUP,
    kept="A failed upgrade may need its backup: it is kept until somebody releases it or the upgrade completes.",
    fact=Fact.CLUSTER_CHANGES,
)
_PAUSE_GITOPS = Task(
    id="pause-gitops-agent",
    title="Pause the GitOps agent",
    contract="The GitOps agent changes nothing of the cluster until it is resumed.",
    duty="None.",
    probe="Everything that the agent reconciles is marked as paused by this workflow.",
    errors="What the agent reconciles cannot be marked.",
    seconds=5 * _MINUTE,
    why="Marks are set, and the agent's current run ends within a few minutes.",
    needs=(Key.MANAGEMENT,),
    produces=(Key.PAUSED_GITOPS,),
    acquires=Resource.GITOPS,
    fact=Fact.GITOPS,
)
_RESUME_GITOPS = Task(
    id="resume-gitops-agent",
    title="Resume the GitOps agent",
    contract="The GitOps agent reconciles again what this workflow had paused, and only that.",
    duty="None.",
    probe="Nothing is marked as paused by this workflow.",
    errors="A mark that cannot be removed: the resource stays held.",
    seconds=5 * _MINUTE,
    why="Marks are removed.",
    needs=(Key.MANAGEMENT,),
    uses=(Key.PAUSED_GITOPS,),
    releases=Resource.GITOPS,
    fact=Fact.GITOPS,
)
_PAUSE_CLUSTERS = Task(
    id="pause-other-clusters",
    title="Pause the other clusters",
    contract="Nothing is reconciled of the workload clusters while their management cluster is upgraded.",
    duty="Mark each of its clusters as paused, and return their names.",
    probe="Each of them is marked as paused by this workflow.",
    errors="A cluster that cannot be marked.",
    seconds=10 * _MINUTE,
    why="Hundreds of clusters are marked, each by one call.",
    needs=(Key.MANAGEMENT,),
    produces=(Key.PAUSED_CLUSTERS,),
    acquires=Resource.OTHER_CLUSTERS,
    fact=Fact.OTHER_CLUSTERS,
)
_RESUME_CLUSTERS = Task(
    id="resume-other-clusters",
    title="Resume the other clusters",
    contract="The workload clusters that this workflow had paused are reconciled again, and only those.",
    duty="Remove the marks that this workflow has set, wherever the objects are now.",
    probe="None of them is marked as paused by this workflow.",
    errors="A mark that cannot be removed: the resource stays held.",
    seconds=10 * _MINUTE,
    why="Hundreds of clusters are unmarked, each by one call.",
    needs=(Key.MANAGEMENT,),
    uses=(Key.PAUSED_CLUSTERS,),
    releases=Resource.OTHER_CLUSTERS,
    fact=Fact.OTHER_CLUSTERS,
)
_UPGRADE_MANAGEMENT = Task(
    id="upgrade-management-components",
    title="Upgrade the management components",
    contract="What makes clusters is ready in its new version, and what has changed is known.",
    duty="Upgrade its own controllers, and return the old and the new version of each.",
    probe="Each controller reports its new version and is ready.",
    errors="A controller that is not ready in time: its conditions are named.",
    seconds=30 * _MINUTE,
    why="Controllers are replaced one after another, and convert their objects.",
    needs=(Key.MANAGEMENT,),
    produces=(Key.DIFF,),
    role=ComponentRole.MANAGEMENT,
)
_UPGRADE_CLUSTER = Task(
    id="upgrade-cluster",
    title="Upgrade the cluster",
    contract="The control plane, then all nodes, are as the specification says, and are ready.",
    duty="Turn the new specification into what it makes clusters of, apply that, and wait until it is observed.",
    probe="The cluster reports this specification as observed, and is ready.",
    errors="What makes clusters fails, or the cluster is not as specified in time.",
    seconds=4 * _HOUR,
    why="Nodes are replaced group by group while their pods move; a large cluster takes an afternoon.",
    uses=(Key.BOOTSTRAP, Key.MANAGEMENT, Key.WORKLOAD),
    fact=Fact.CLUSTER_CHANGES,
)
_WRITE_CONFIGURATION = Task(
    id="write-configuration",
    title="Write the cluster's configuration",
    contract="The artifact bucket has the configuration of the cluster as it is now, for people and programs.",
    duty="Return the configuration with what the upgrade has added to it, without secrets.",
    probe="The stored configuration is the same.",
    errors="The configuration cannot be read or stored.",
    seconds=5 * _MINUTE,
    why="A few objects are read and one is written.",
    uses=(Key.MANAGEMENT, Key.WORKLOAD),
)
_DELETE_MANAGEMENT = Task(
    id="delete-management-cluster",
    title="Delete the management cluster",
    contract="The management cluster and all that was made for it are gone. It had no workload cluster left.",
    duty="Delete the cluster, and wait until its machines, addresses and disks are gone.",
    probe="There is no such cluster.",
    errors="Something that was made for it remains at the time limit, and is named.",
    seconds=2 * _HOUR,
    why="Nodes are drained before they go, and load balancers and disks after them.",
    needs=(Key.MANAGEMENT,),
    uses=(Key.BOOTSTRAP,),
)
_CREATE_WORKLOAD = Task(
    id="create-workload-cluster",
    title="Create the workload cluster",
    contract="The workload cluster exists as specified, and its API server answers.",
    duty="Turn the specification into what it makes clusters of, apply that, and wait until the cluster is ready.",
    probe="The cluster exists, and reports this specification as observed.",
    errors="What makes clusters fails or does not end in time, or the API server does not answer.",
    seconds=2 * _HOUR,
    why="A control plane takes up to 20 minutes and each group of nodes as long; machines of metal take an hour.",
    uses=(Key.MANAGEMENT,),
    produces=(Key.WORKLOAD,),
)
_INSTALL_WORKLOAD = Task(
    id="install-workload-components",
    title="Install the workload components",
    contract="The workload cluster has the components of the role workload, and they are ready.",
    duty="Add what later operations identify the cluster by, if its clusters need that.",
    probe="Applying the same again changes nothing, and all of it is ready.",
    errors="An object that conflicts with another owner, or is not ready in time: its conditions are named.",
    seconds=15 * _MINUTE,
    why="Images are pulled on new nodes.",
    needs=(Key.WORKLOAD,),
    fact=Fact.COMPONENTS,
    role=ComponentRole.WORKLOAD,
)
_UPGRADE_WORKLOAD = replace(
    _INSTALL_WORKLOAD,
    id="upgrade-workload-components",
    title="Upgrade the workload components",
    contract="The components of the role workload are ready in their new version, before nodes are replaced.",
)
_DELETE_WORKLOAD = Task(
    id="delete-workload-cluster",
    title="Delete the workload cluster",
    contract="The workload cluster and all that was made for it are gone; that it was gone before is success.",
    duty="Delete the cluster, and wait until its machines, addresses and disks are gone.",
    probe="There is no such cluster.",
    errors="Something that was made for it remains at the time limit, and is named.",
    seconds=2 * _HOUR,
    why="Nodes are drained before they go, and load balancers and disks after them.",
    needs=(Key.WORKLOAD,),
    uses=(Key.MANAGEMENT,),
)
_DIAGNOSE = Task(
    id="diagnose-management-cluster",
    title="Diagnose the management cluster",
    contract="The artifact bucket has the events, logs and conditions of the management or bootstrap cluster.",
    duty="Add what its controllers know. Change nothing.",
    probe="None: each failure has diagnostics of its own.",
    errors="None that counts: what cannot be read is left out, and the first error stays.",
    seconds=15 * _MINUTE,
    why="Logs of the last three hours are read; more would be of no help.",
    checkpoint=False,
)
#: Tasks of no workflow: a failed one runs them, side by side, for the clusters that it knows how to reach.
DIAGNOSTICS = (
    _DIAGNOSE,
    replace(
        _DIAGNOSE,
        id="diagnose-workload-cluster",
        title="Diagnose the workload cluster",
        contract="The artifact bucket has the events, logs and conditions of the workload cluster.",
    ),
)


def _finding(*keys: Key) -> Task:
    """Return the validation of a workflow whose clusters are there already: it says how they are reached."""
    return replace(_VALIDATE, produces=keys)


def _on(key: Key, task: Task) -> Task:
    return replace(task, needs=(key,))


def _for_upgrade(task: Task) -> Task:
    """Return a task of the bootstrap leg as it is in an upgrade: only for providers that do not upgrade in place.

    It deletes nothing and moves nothing when only components change.
    """
    return replace(task, capability=Capability.BOOTSTRAP_UPGRADE, fact=Fact.CLUSTER_CHANGES)


_MANAGEMENT, _WORKLOAD = ClusterKind.MANAGEMENT, ClusterKind.WORKLOAD

#: All tasks of each workflow, in their order.
_TASKS: Mapping[Workflow, tuple[Task, ...]] = {
    Workflow(_MANAGEMENT, Operation.CREATE): (
        _VALIDATE,
        _CREATE_BOOTSTRAP,
        _INSTALL_BOOTSTRAP,
        _CREATE_MANAGEMENT,
        _on(Key.MANAGEMENT, _NETWORKING),
        _INSTALL_MANAGEMENT,
        _PIVOT_TO_MANAGEMENT,
        _CONFIGURATION,
        _DELETE_BOOTSTRAP,
    ),
    Workflow(_MANAGEMENT, Operation.UPGRADE): (
        _finding(Key.MANAGEMENT),
        _BACK_UP,
        _PAUSE_GITOPS,
        _PAUSE_CLUSTERS,
        _UPGRADE_MANAGEMENT,
        _on(Key.MANAGEMENT, _UPGRADE_NETWORKING),
        _INSTALL_MANAGEMENT,
        _for_upgrade(_CREATE_BOOTSTRAP),
        _for_upgrade(_INSTALL_BOOTSTRAP),
        _for_upgrade(_PIVOT_TO_BOOTSTRAP),
        _UPGRADE_CLUSTER,
        _for_upgrade(_PIVOT_TO_MANAGEMENT),
        _for_upgrade(_DELETE_BOOTSTRAP),
        _WRITE_CONFIGURATION,
        _RESUME_CLUSTERS,
        _RESUME_GITOPS,
        _DELETE_BACKUP,
    ),
    Workflow(_MANAGEMENT, Operation.UPGRADE_COMPONENTS): (
        _finding(Key.MANAGEMENT),
        _PAUSE_GITOPS,
        _UPGRADE_MANAGEMENT,
        _INSTALL_MANAGEMENT,
        _RESUME_GITOPS,
    ),
    Workflow(_MANAGEMENT, Operation.DELETE): (
        _finding(Key.MANAGEMENT),
        _CREATE_BOOTSTRAP,
        _INSTALL_BOOTSTRAP,
        _PIVOT_TO_BOOTSTRAP,
        _DELETE_MANAGEMENT,
        _DELETE_BOOTSTRAP,
    ),
    Workflow(_WORKLOAD, Operation.CREATE): (
        _finding(Key.MANAGEMENT),
        _CREATE_WORKLOAD,
        _on(Key.WORKLOAD, _NETWORKING),
        _INSTALL_WORKLOAD,
    ),
    Workflow(_WORKLOAD, Operation.UPGRADE): (
        _finding(Key.MANAGEMENT, Key.WORKLOAD),
        _on(Key.WORKLOAD, _UPGRADE_NETWORKING),
        _UPGRADE_WORKLOAD,
        _UPGRADE_CLUSTER,
        _WRITE_CONFIGURATION,
    ),
    Workflow(_WORKLOAD, Operation.DELETE): (
        _finding(Key.MANAGEMENT, Key.WORKLOAD),
        _DELETE_WORKLOAD,
    ),
}


def tasks_of(workflow: Workflow, capabilities: frozenset[Capability]) -> tuple[Task, ...]:
    """Return the tasks of a workflow for a provider with these capabilities, in their order."""
    return tuple(task for task in _TASKS[workflow] if task.capability is None or task.capability in capabilities)


def task_ids(kind: ClusterKind, capabilities: frozenset[Capability]) -> tuple[str, ...]:
    """Return the ids of the tasks of all workflows of a cluster: what the repository's hooks may be bound to."""
    tasks = (task.id for each in WORKFLOWS if each.kind is kind for task in tasks_of(each, capabilities))
    return tuple(dict.fromkeys(tasks))
