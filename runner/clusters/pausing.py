"""Pause and resume what reconciles: clusters, and GitOps agents. Only what this cluster's workflow paused is resumed.

A mark with the cluster's name says whose pause it is, so that a resumed workflow, or what cleans up after a failed one,
knows it, and nobody's own pause is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.clusters.api import Api
from runner.clusters.objects import MARKS, Identity, Object, annotations_of, identity

#: The annotation with the cluster whose workflow has paused an object.
PAUSED_BY = f"{MARKS}/paused-by"
#: By which controllers of Cluster API leave an object alone.
PAUSED = "cluster.x-k8s.io/paused"
CLUSTER_KINDS = (("cluster.x-k8s.io/v1beta2", "Cluster"), ("cluster.x-k8s.io/v1beta1", "Cluster"))


@dataclass(frozen=True, slots=True)
class Switch:
    """How one kind is paused. ``paused`` tells whether an object is, ``on`` and ``off`` are the changes to it."""

    api_version: str
    kind: str
    paused: Callable[[Object], bool]
    on: Mapping[str, Any]
    off: Mapping[str, Any]


def _by_field(api_version: str, kind: str, field: str) -> Switch:
    return Switch(
        api_version,
        kind,
        lambda found: bool((found.get("spec") or {}).get(field)),
        {"spec": {field: True}},
        {"spec": {field: None}},
    )


def _by_annotation(api_version: str, kind: str, name: str) -> Switch:
    return Switch(
        api_version,
        kind,
        lambda found: name in annotations_of(found),
        {"metadata": {"annotations": {name: "true"}}},
        {"metadata": {"annotations": {name: None}}},
    )


CLUSTERS = tuple(_by_field(version, kind, "paused") for version, kind in CLUSTER_KINDS)
#: What each agent reconciles. A version that a cluster does not have has no objects there.
AGENTS: Mapping[str, tuple[Switch, ...]] = {
    "flux": (
        _by_field("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "suspend"),
        _by_field("helm.toolkit.fluxcd.io/v2", "HelmRelease", "suspend"),
    ),
    "argocd": (_by_annotation("argoproj.io/v1alpha1", "Application", "argocd.argoproj.io/skip-reconcile"),),
}


def pause(api: Api, switches: Iterable[Switch], by: str, among: Callable[[Object], bool] = lambda _: True) -> list[str]:
    """Pause all that is not paused, and return the names of what this cluster's workflow has paused."""
    names = []
    for switch, found in _found(api, switches):
        if annotations_of(found).get(PAUSED_BY) == by and switch.paused(found):
            names.append(found["metadata"]["name"])
        elif among(found) and not switch.paused(found):
            api.patch(identity(found), _with_mark(switch.on, by))
            names.append(found["metadata"]["name"])
    return sorted(names)


def resume(api: Api, switches: Iterable[Switch], by: str) -> list[str]:
    """Resume all that this cluster's workflow has paused, and return its names."""
    names = []
    for switch, found in _found(api, switches):
        if annotations_of(found).get(PAUSED_BY) == by:
            api.patch(identity(found), _with_mark(switch.off, None))
            names.append(found["metadata"]["name"])
    return sorted(names)


def _found(api: Api, switches: Iterable[Switch]) -> Iterator[tuple[Switch, Object]]:
    seen: set[Identity] = set()
    for switch in switches:
        for found in list(api.list(switch.api_version, switch.kind)):
            of = identity(found)._replace(api_version=switch.api_version.partition("/")[0])
            if of not in seen:
                seen.add(of)
                yield switch, found


def _with_mark(change: Mapping[str, Any], by: str | None) -> Mapping[str, Any]:
    marks = {**(change.get("metadata") or {}).get("annotations", {}), PAUSED_BY: by}
    return {**change, "metadata": {"annotations": marks}}
