"""What is moved between clusters: the objects that describe clusters, and what belongs to them.

The marks are those of clusterctl: a label on a definition says that its objects are moved, a label on an object that
it is moved itself, and what an owner that is moved owns is moved with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from runner.clusters.api import Api
from runner.clusters.objects import Object, identity, labels

#: Labels of definitions, and of objects, that are moved.
OF_DEFINITIONS = ("clusterctl.cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io/move", "tidegate/move")
OF_OBJECTS = ("clusterctl.cluster.x-k8s.io/move", "tidegate/move", "cluster.x-k8s.io/cluster-name")
_DEFINITIONS = "apiextensions.k8s.io/v1"


def kinds(api: Api) -> Iterator[tuple[str, str]]:
    """Yield the kinds whose objects are moved, each as its version and name."""
    for found in api.list(_DEFINITIONS, "CustomResourceDefinition"):
        if any(each in labels(found) for each in OF_DEFINITIONS):
            spec = found["spec"]
            stored = next(each["name"] for each in spec["versions"] if each["storage"])
            yield f"{spec['group']}/{stored}", spec["names"]["kind"]


def objects(api: Api) -> list[Object]:
    """Return all objects that are moved, owners before what they own."""
    chosen = {_uid(found): found for kind in kinds(api) for found in api.list(*kind)}
    others = [found for kind in ("Secret", "ConfigMap") for found in api.list("v1", kind)]
    growing = True
    while growing:
        more = {_uid(each): each for each in others if _uid(each) not in chosen and _belongs(each, chosen)}
        chosen |= more
        growing = bool(more)
    return owners_first(chosen.values())


def owners_first(found: Iterable[Object]) -> list[Object]:
    """Return objects with each behind those that own it. What is in a cycle of owners comes last."""
    left = {_uid(each): each for each in sorted(found, key=identity)}
    ordered: list[Object] = []
    while left:
        free = [uid for uid, each in left.items() if not any(owner["uid"] in left for owner in owners(each))]
        ordered.extend([left.pop(uid) for uid in free or list(left)])
    return ordered


def owners(found: Object) -> tuple[Mapping[str, str], ...]:
    return tuple(found["metadata"].get("ownerReferences") or ())


def _belongs(found: Object, chosen: Mapping[str, Object]) -> bool:
    return any(each in labels(found) for each in OF_OBJECTS) or any(each["uid"] in chosen for each in owners(found))


def _uid(found: Object) -> str:
    return str(found["metadata"]["uid"])
