"""The provider ``existing``: a cluster that is there, made by others. It is adopted, and only components change it.

Its section of the cluster's file: ``secret: NAME`` of a kubeconfig, or ``eks: ARN``.
"""

from __future__ import annotations

from runner.clusters.providers.options import reference
from runner.clusters.providers.protocol import Plain, Status
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import ClusterReference, Key
from tidegate.clusters.rules.kubernetes_version import version_of


class Existing(Plain):
    """See the module."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def validate(self) -> None:
        found = self._work.api(self._reference()).version()
        self._work.say(f"{self._work.name} answers, with Kubernetes {found}")

    def status(self, _key: Key) -> Status:
        """It is ready for this specification if it has the version that this one names: nothing else is made of it."""
        found, wanted = self._work.api(self._reference()).version(), str(self._work.spec["kubernetes"])
        if not is_version(found, wanted):
            return Status(self._reference(), why=f"it has Kubernetes {found}, and the file says {wanted}")
        return Status(self._reference(), ready=True, observed=self._work.plan.spec_hash)

    def create(self, key: Key) -> ClusterReference:
        self._require(key)
        return self._reference()

    def upgrade(self, key: Key) -> None:
        self._require(key)

    def delete(self, _key: Key) -> None:
        """It stays as it is: others made it. Its components stay as well, as they may serve others."""
        self._work.say(f"{self._work.name} was made by others: it is only forgotten")

    def _require(self, key: Key) -> None:
        status = self.status(key)
        if not status.ready:
            raise TaskFailed(
                f"The cluster {self._work.name} is not as its file says: {status.why}. Tidegate does not change "
                "its version: upgrade the cluster itself, or correct the file."
            )

    def _reference(self) -> ClusterReference:
        return reference(self._work, self._work.options, "provider", self._work.name)


def is_version(found: str, wanted: str) -> bool:
    """Tell whether a version that a cluster reports is the one of a file, which may leave out the patch."""
    have, want = version_of(found), version_of(wanted)
    patch = want.patch < 0 or want.patch == have.patch
    return (have.major, have.minor) == (want.major, want.minor) and patch
