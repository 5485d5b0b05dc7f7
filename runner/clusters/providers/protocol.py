"""What every provider does.

A provider is made for one task, with its ``Work``: the order, the reviewed plan, the cluster's file, the context. It
chooses no successor and keeps nothing between tasks: the same task may run again after any death of a runner, so each
method must be safe to repeat, and find what it did before.

Errors: raise ``ClusterUnreachable`` for what may pass by itself (the task is tried again), ``TaskFailed`` for all else,
with what to do. Never print secrets, and return none: a reference says where a kubeconfig is.

tests/runner/clusters/test_conformance.py runs every provider through its contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidegate.clusters.rules.context import ClusterReference, Key
from tidegate.clusters.rules.plan import VersionChange


@dataclass(frozen=True, slots=True)
class Status:
    """What a provider sees of a cluster. ``observed`` is the hash of the specification that it is made of.

    ``ready`` holds for that hash alone. ``reference`` says how to reach it, None if that is not known. ``gone`` tells
    that there is certainly no such cluster.
    """

    reference: ClusterReference | None
    ready: bool = False
    observed: str = ""
    why: str = ""
    gone: bool = False


class Provider(Protocol):
    """A provider. ``key`` is the cluster's in the context: management, workload or bootstrap.

    ``deletes_from_outside`` tells that it deletes clusters whose API server does not answer, or that have none yet.
    """

    deletes_from_outside: bool

    def validate(self) -> None:
        """Check its own part of the cluster's file, unknown keys included, and its credentials. Change nothing.

        It runs at the beginning of every workflow, and again of a resumed one.
        """

    def status(self, key: Key) -> Status:
        """Say what there is of a cluster. It is the probe of create, upgrade and delete, and changes nothing.

        Never say ``ready`` with the hash of an older specification.
        """

    def create(self, key: Key) -> ClusterReference:
        """Make the cluster as specified, wait until its API server answers, and return how to reach it.

        Needs: for a management cluster the bootstrap cluster, where there is one; for a workload cluster its management
        cluster. A bootstrap cluster is made from nothing.
        """

    def upgrade(self, key: Key) -> None:
        """Make the cluster as specified now, and wait until that is observed."""

    def delete(self, key: Key) -> None:
        """Delete the cluster and all that was made for it. One that is gone is success.

        A bootstrap cluster that still owns a cluster is refused by the task before.
        """

    def install(self, key: Key) -> tuple[VersionChange, ...]:
        """Install or upgrade its own controllers on a cluster that is to make clusters; most have none.

        Return the versions that have changed.
        """

    def install_resources(self, key: Key) -> None:
        """Add what it keeps on a new management cluster besides its controllers; most have nothing."""

    def move(self, source: Key, target: Key) -> bool:
        """Move the objects of clusters that are no Kubernetes objects, and return True; False if it has none.

        Those on API servers are moved for every provider alike (runner/clusters/pivot.py).
        """

    def diagnose(self, key: Key) -> bytes | None:
        """Return what it knows itself about a cluster that fails, None for nothing. Change nothing."""


class Plain:
    """What most providers need not override."""

    deletes_from_outside = False

    def install(self, _key: Key) -> tuple[VersionChange, ...]:
        return ()

    def install_resources(self, _key: Key) -> None:
        return

    def move(self, _source: Key, _target: Key) -> bool:
        return False

    def diagnose(self, _key: Key) -> bytes | None:
        return None
