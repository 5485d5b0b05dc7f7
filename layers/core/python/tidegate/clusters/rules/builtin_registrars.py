"""The hooks that come with Tidegate. An installation names those that it wants, in the order in which they run.

What an action does is in runner/clusters. ``IamAuthentication`` is the worked example of docs/clusters.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.clusters.rules.context import OWN_KEYS, Key
from tidegate.clusters.rules.registrar import Binder, Hook, Registrar
from tidegate.deploys.rules.cluster import ClusterKind, HookFailure

_PIVOT, _MANAGEMENT = "pivot-to-management", "install-management-components"


class ResourcesAfterPivot(Registrar):
    """Provider's resources on a new management cluster, once it owns its objects."""

    name = "resources"

    def create(self, binder: Binder) -> None:
        if binder.workflow.kind is ClusterKind.MANAGEMENT:
            binder.after(_PIVOT if _PIVOT in binder.tasks else _MANAGEMENT, _RESOURCES)


_RESOURCES = Hook(
    "install-resources",
    "Installs what the provider keeps on a management cluster besides its controllers.",
    action="install-resources",
    needs=(Key.MANAGEMENT,),
)


class GitOps(Registrar):
    """The GitOps agent of a new cluster. A cluster without it works, so a failure is a warning."""

    name = "gitops"

    def create(self, binder: Binder) -> None:
        hook = Hook(
            "install-gitops-agent",
            "Installs the GitOps agent that the cluster's file names.",
            action="install-gitops-agent",
            needs=(OWN_KEYS[binder.workflow.kind],),
            on_error=HookFailure.WARN,
        )
        binder.after_workflow(hook)


class Packages(Registrar):
    """The components of the role package, after all else. A failure is a warning."""

    name = "packages"

    def create(self, binder: Binder) -> None:
        self._install(binder)

    def upgrade(self, binder: Binder) -> None:
        self._install(binder)

    @staticmethod
    def _install(binder: Binder) -> None:
        hook = Hook(
            "install-packages",
            "Installs or upgrades the components of the role package.",
            action="install-packages",
            needs=(OWN_KEYS[binder.workflow.kind],),
            on_error=HookFailure.WARN,
            seconds=1800,
        )
        binder.after_workflow(hook)


class WriteConfiguration(Registrar):
    """The configuration of a new cluster, as an upgrade writes it by a task of its own."""

    name = "configuration"

    def create(self, binder: Binder) -> None:
        hook = Hook(
            "write-configuration",
            "Writes the configuration of the cluster as it is now to the artifact bucket.",
            action="write-configuration",
            needs=(OWN_KEYS[binder.workflow.kind],),
        )
        binder.after_workflow(hook)


class IamAuthentication(Registrar):
    """Access to clusters by IAM: a certificate authority before the cluster is made, the authenticator after.

    ``iam-authority`` names the secret; where there is no bootstrap cluster, the authenticator makes its own.
    """

    name = "iam-authentication"

    def create(self, binder: Binder) -> None:
        if "create-bootstrap-cluster" in binder.tasks:
            binder.after("create-bootstrap-cluster", _AUTHORITY)
        if "create-workload-cluster" in binder.tasks:
            binder.after("create-workload-cluster", _AUTHENTICATOR)


_AUTHORITY = Hook(
    "create-authority",
    "Creates the secret with the authority that the authenticator's certificates come from.",
    action="create-iam-authority",
    needs=(Key.BOOTSTRAP,),
    produces=("iam-authority",),
)
_AUTHENTICATOR = Hook(
    "install-authenticator",
    "Installs the IAM authenticator, so that people reach the cluster by their roles.",
    action="install-iam-authenticator",
    needs=(Key.WORKLOAD,),
)

#: The registrars by their names.
BUILTIN: Mapping[str, Registrar] = {
    each.name: each for each in (ResourcesAfterPivot(), IamAuthentication(), GitOps(), Packages(), WriteConfiguration())
}
#: What an installation has that names none.
DEFAULT: Sequence[Registrar] = tuple(BUILTIN[name] for name in ("resources", "gitops", "packages", "configuration"))
