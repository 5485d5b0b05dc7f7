"""The clusters that one has to do with."""

from __future__ import annotations

from tidegate.clusters.rules.record import ClusterRecord
from tidegate.deploys.rules.cluster import ClusterKind, DeclaredCluster
from tidegate.ports import Ports


def related_clusters(ports: Ports, repository: str, cluster: DeclaredCluster) -> tuple[ClusterRecord, ...]:
    """Return the record of a cluster, and those of its management cluster and of the clusters that it manages.

    There may be others among them. For a workload cluster, of which a repository may have thousands, none but two
    records are read.
    """
    own = ports.clusters.cluster(repository, cluster.name)
    if ClusterKind.MANAGEMENT in {cluster.kind, own.kind if own else cluster.kind}:
        return tuple(ports.clusters.clusters(repository))
    above = ports.clusters.cluster(repository, cluster.management) if cluster.management else None
    return tuple(each for each in (own, above) if each)
