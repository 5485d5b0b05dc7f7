"""Plans of the clusters of a checkout, constructed as plan jobs do: what they know of a cluster is assumed here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tidegate.clusters.adapters.source import management_version, read_spec
from tidegate.clusters.rules.builtin_registrars import DEFAULT
from tidegate.clusters.rules.construct import build
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.cluster import CurrentCluster, DeclaredCluster
from tidegate_cli.problems import NotFound, Refused

if TYPE_CHECKING:
    from tidegate.clusters.rules.plan import ClusterPlan
    from tidegate.config.loaded import LoadedConfiguration


@dataclass(frozen=True, slots=True)
class Assumed:
    """What a checkout does not say. ``kubernetes`` is the cluster's version now, empty for that of its file."""

    operation: Operation | None = None
    kubernetes: str = ""


def cluster_names(loaded: LoadedConfiguration) -> list[str]:
    """Return the names of the clusters that a file declares."""
    return [each.root.name for each in loaded.clusters]


def named_cluster(loaded: LoadedConfiguration, name: str) -> DeclaredCluster:
    """Return a declared cluster. Raise NotFound with the nearest."""
    from tidegate.roots.rules.nearest import nearest

    names = cluster_names(loaded)
    if name not in names:
        near = nearest(name, names)
        meant = f"Did you mean {near}? " if near else ""
        raise NotFound(f"The file declares no cluster {name}.", f"{meant}Clusters: {', '.join(names) or 'none'}.")
    return _declared(loaded, name)


def planned_cluster(top: Path, loaded: LoadedConfiguration, cluster: DeclaredCluster, assumed: Assumed) -> ClusterPlan:
    """Return the plan of a cluster's workflow. Without an operation: its creation, or its deletion if it says so.

    Raise Refused with what a plan job would refuse.
    """
    try:
        return _constructed(top, loaded, cluster, assumed)
    except ClusterRefused as refusal:
        raise Refused(str(refusal)) from None


def refused_clusters(top: Path, loaded: LoadedConfiguration) -> dict[str, str]:
    """Return by name why clusters cannot be planned."""
    refused = {}
    for name in cluster_names(loaded):
        try:
            _constructed(top, loaded, _declared(loaded, name), Assumed())
        except ClusterRefused as refusal:
            refused[name] = str(refusal)
    return refused


def _declared(loaded: LoadedConfiguration, name: str) -> DeclaredCluster:
    cluster = loaded.declarations[name].cluster
    assert cluster is not None  # noqa: S101  # The name is that of a cluster.
    return cluster


def _constructed(top: Path, loaded: LoadedConfiguration, cluster: DeclaredCluster, assumed: Assumed) -> ClusterPlan:
    spec = read_spec(top, cluster)
    deleted = loaded.declarations[cluster.name].destroy
    operation = assumed.operation or (Operation.DELETE if deleted else Operation.CREATE)
    current = None if operation is Operation.CREATE else _current(cluster, assumed.kubernetes or spec.kubernetes)
    if current and operation in {Operation.UPGRADE, Operation.DELETE}:
        current = replace(current, workloads=_workloads(loaded, cluster.name))
    if current and operation is Operation.UPGRADE_COMPONENTS:
        current = replace(current, cluster_hash=spec.cluster_hash)
    provider = PROVIDERS[cluster.provider]
    return build(operation, cluster, spec, current, provider, DEFAULT, management=management_version(top, cluster))


def _current(cluster: DeclaredCluster, kubernetes: str) -> CurrentCluster:
    """Return a cluster as its declaration says, but made of other files."""
    components = tuple((each.name, each.version) for each in cluster.components)
    return CurrentCluster(kubernetes, "", cluster.provider, PROVIDERS[cluster.provider].version, components)


def _workloads(loaded: LoadedConfiguration, management: str) -> tuple[str, ...]:
    """Return the clusters that name this one as their management cluster, and stay."""
    names = (name for name in cluster_names(loaded) if not loaded.declarations[name].destroy)
    return tuple(sorted(name for name in names if _declared(loaded, name).management == management))
