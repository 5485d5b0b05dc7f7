"""Versions of Kubernetes, and which of them may follow or manage which."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tidegate.clusters.rules.refusals import (
    Downgraded,
    InvalidSpec,
    ManagementMissing,
    NewerThanManagement,
    VersionSkipped,
)

_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})(?:\.(\d{1,5}))?(?:[-+][0-9A-Za-z.+-]{1,60})?")


@dataclass(frozen=True, slots=True, order=True)
class KubernetesVersion:
    """A version. ``patch`` is -1 where none is given, as EKS has none."""

    major: int
    minor: int
    patch: int = -1


def version_of(text: str) -> KubernetesVersion:
    """Return the version of a text such as ``1.33``, ``v1.33.4`` or ``1.33.4-eks-1-33-10``."""
    found = _VERSION.fullmatch(text)
    if not found:
        raise InvalidSpec("kubernetes", f"is {text[:40]!r}", "a version such as 1.33 or 1.33.4")
    return KubernetesVersion(int(found[1]), int(found[2]), int(found[3] or -1))


def refuse_skew(before: str, after: str) -> None:
    """Raise VersionSkipped or Downgraded if a cluster cannot go from one version to the other.

    Kubernetes upgrades a control plane by one minor version at a time, and downgrades none (kubernetes.io, Version
    Skew Policy). Where either version has no patch, only their minor versions are compared.
    """
    old, new = version_of(before), version_of(after)
    lower_patch = min(old.patch, new.patch) >= 0 and new < old
    if (new.major, new.minor) < (old.major, old.minor) or lower_patch:
        raise Downgraded(before, after)
    if new.major > old.major or new.minor > old.minor + 1:
        raise VersionSkipped(before, after, f"{old.major}.{old.minor + 1}")


def refuse_newer(version: str, management: str, managing: str) -> None:
    """Raise NewerThanManagement if a cluster's minor version is newer than that of its management cluster.

    Raise ManagementMissing if ``managing``, the version of that one, is empty.
    """
    if not managing:
        raise ManagementMissing(management)
    workload, manager = version_of(version), version_of(managing)
    if (workload.major, workload.minor) > (manager.major, manager.minor):
        raise NewerThanManagement(version, management, managing)
