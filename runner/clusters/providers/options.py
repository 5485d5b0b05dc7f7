"""What a cluster's file says under ``provider``: read once, with every unknown key refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import Access, ClusterReference
from tidegate.roots.rules.nearest import nearest


def refuse_unknown(work: Work, said: Mapping[str, Any], known: Sequence[str], where: str = "provider") -> None:
    """Raise TaskFailed for a key that the provider does not know."""
    for key in said:
        if key not in known:
            near = nearest(str(key), known)
            meant = f" Did you mean {near}?" if near else ""
            raise wrong(work, f"{where}.{str(key)[:60]} is not known.{meant} Allowed: {', '.join(known)}")


def wrong(work: Work, what: str) -> TaskFailed:
    return TaskFailed(f"{work.order.cluster.spec}: {what}.")


def mapping(work: Work, key: str) -> Mapping[str, Any]:
    """Return a mapping of the section, empty if it is not there. Raise TaskFailed for anything else."""
    said = work.options.get(key) or {}
    if not isinstance(said, Mapping):
        raise wrong(work, f"provider.{key} is no mapping")
    return said


def reference(work: Work, said: Mapping[str, Any], where: str, name: str) -> ClusterReference:
    """Return the cluster that ``eks`` or ``secret`` names. Raise TaskFailed."""
    refuse_unknown(work, said, ("eks", "secret"), where)
    given = [(access, said[access]) for access in (Access.EKS, Access.SECRET) if said.get(access)]
    if len(given) != 1 or not isinstance(given[0][1], str):
        raise wrong(work, f"{where} must say either eks: ARN or secret: NAME")
    access, place = given[0]
    return ClusterReference(name, access, place)
