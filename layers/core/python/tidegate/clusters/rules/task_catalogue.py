"""Each task of cluster workflows. Providers carry them out, and each is idempotent."""

from __future__ import annotations

from dataclasses import replace

from tidegate.clusters.rules.context import Key
from tidegate.clusters.rules.task import Capability, Fact, Resource, Task
from tidegate.deploys.rules.cluster import ComponentRole

_MINUTE = 60
_HOUR = 60 * _MINUTE

VALIDATE = Task(
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
CREATE_BOOTSTRAP = Task(
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
INSTALL_BOOTSTRAP = Task(
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
CREATE_MANAGEMENT = Task(
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
NETWORKING = Task(
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
UPGRADE_NETWORKING = replace(
    NETWORKING,
    id="upgrade-networking",
    title="Upgrade the networking",
    contract="The components of the role networking are ready in their new version, before nodes are replaced.",
    why="A network is replaced node by node.",
)
INSTALL_MANAGEMENT = replace(
    INSTALL_BOOTSTRAP,
    id="install-management-components",
    title="Install the management components",
    contract="The management cluster can make clusters itself: all that is needed for that is there and ready.",
    duty="Install its own controllers there. Components of the role management are installed besides.",
    needs=(Key.MANAGEMENT,),
    capability=None,
    role=ComponentRole.MANAGEMENT,
)
PIVOT_TO_MANAGEMENT = Task(
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
PIVOT_TO_BOOTSTRAP = replace(
    PIVOT_TO_MANAGEMENT,
    id="pivot-to-bootstrap",
    title="Pivot to the bootstrap cluster",
    contract="The bootstrap cluster owns the objects of the management cluster, which may now be changed from outside.",
)
CONFIGURATION = Task(
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
DELETE_BOOTSTRAP = Task(
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
BACK_UP = Task(
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
DELETE_BACKUP = Task(
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
PAUSE_GITOPS = Task(
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
RESUME_GITOPS = Task(
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
PAUSE_CLUSTERS = Task(
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
RESUME_CLUSTERS = Task(
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
UPGRADE_MANAGEMENT = Task(
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
UPGRADE_CLUSTER = Task(
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
WRITE_CONFIGURATION = Task(
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
DELETE_MANAGEMENT = Task(
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
CREATE_WORKLOAD = replace(
    CREATE_MANAGEMENT,
    id="create-workload-cluster",
    title="Create the workload cluster",
    contract="The workload cluster exists as specified, and its API server answers.",
    uses=(Key.MANAGEMENT,),
    produces=(Key.WORKLOAD,),
)
INSTALL_WORKLOAD = replace(
    NETWORKING,
    id="install-workload-components",
    title="Install the workload components",
    contract="The workload cluster has the components of the role workload, and they are ready.",
    duty="Add what later operations identify the cluster by, if its clusters need that.",
    why="Images are pulled on new nodes.",
    needs=(Key.WORKLOAD,),
    role=ComponentRole.WORKLOAD,
)
UPGRADE_WORKLOAD = replace(
    INSTALL_WORKLOAD,
    id="upgrade-workload-components",
    title="Upgrade the workload components",
    contract="The components of the role workload are ready in their new version, before nodes are replaced.",
)
DELETE_WORKLOAD = replace(
    DELETE_MANAGEMENT,
    id="delete-workload-cluster",
    title="Delete the workload cluster",
    contract="The workload cluster and all that was made for it are gone; that it was gone before is success.",
    needs=(Key.WORKLOAD,),
    uses=(Key.MANAGEMENT,),
)
DIAGNOSE = Task(
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
    DIAGNOSE,
    replace(
        DIAGNOSE,
        id="diagnose-workload-cluster",
        title="Diagnose the workload cluster",
        contract="The artifact bucket has the events, logs and conditions of the workload cluster.",
    ),
)
