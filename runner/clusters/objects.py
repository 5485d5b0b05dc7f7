"""Objects of Kubernetes, as parsed JSON: what identifies one, and the order in which they depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]

#: The prefix of all labels and annotations of ours.
MARKS = "tidegate"


class Identity(NamedTuple):
    """What identifies an object. ``namespace`` is empty for one of the whole cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        place = f" in the namespace {self.namespace}" if self.namespace else ""
        return f"{self.kind} {self.name}{place}"

    @property
    def group_kind(self) -> tuple[str, str]:
        return self.api_version.rpartition("/")[0], self.kind


def identity(found: Mapping[str, Any]) -> Identity:
    """Return what identifies an object. Raise KeyError or TypeError for what is none."""
    metadata = found["metadata"]
    return Identity(found["apiVersion"], found["kind"], metadata.get("namespace") or "", metadata["name"])


def labels(found: Mapping[str, Any]) -> Mapping[str, str]:
    return found["metadata"].get("labels") or {}


def annotations_of(found: Mapping[str, Any]) -> Mapping[str, str]:
    return found["metadata"].get("annotations") or {}


def conditions(found: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return an object's conditions by their types."""
    listed = (found.get("status") or {}).get("conditions") or ()
    return {each["type"]: each for each in listed if isinstance(each, dict) and "type" in each}


#: Namespaces and definitions of kinds come first; what intercepts calls, last: what answers for it is not ready before.
_FIRST = (
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("", "ServiceAccount"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("", "Service"),
)
_LAST = (
    ("apiregistration.k8s.io", "APIService"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
)
_BUILT_IN = ("", "apps", "batch", "policy", "autoscaling")


def in_order(objects: Iterable[Object]) -> list[Object]:
    """Return objects in the order in which they can be applied. Deletion is in the reverse order."""
    return sorted(objects, key=lambda each: rank(identity(each)))


def rank(of: Identity) -> tuple[int, int]:
    """Return an object's place in that order."""
    group, _ = group_kind = of.group_kind
    if group_kind in _FIRST:
        return 0, _FIRST.index(group_kind)
    if group_kind in _LAST:
        return 3, _LAST.index(group_kind)
    return (1 if group in _BUILT_IN or group.endswith(".k8s.io") else 2), 0


def stage(found: Object) -> int:
    """Return when an object is applied: 0 for namespaces and definitions, whose kinds must be there, 1 for all else."""
    return int(identity(found).group_kind not in _FIRST[:2])
