"""The provider ``terraform``: a root module in the directory of the cluster's file.

The reviewed plan is applied before the task begins here, by an execution of the terraform machine, as that of any other
root. So this one proves its effect: it reads the state of the module, and asks the cluster. A deletion has applied its
reviewed plan to destroy. Its section of the cluster's file: ``output: NAME`` of the output with the ARN of the EKS
cluster (``cluster_arn``), or ``kubeconfig_output: NAME`` of one with the name of a secret.
"""

from __future__ import annotations

from functools import cached_property

from runner.clusters.eks import EksCluster, describe
from runner.clusters.providers.existing import is_version
from runner.clusters.providers.options import refuse_unknown, wrong
from runner.clusters.providers.protocol import Plain, Status
from runner.clusters.root_module import ModuleState, read_state
from runner.clusters.work import Work
from runner.faults import TaskFailed
from runner.job import Preparation
from tidegate.clusters.rules.context import Access, ClusterReference, Key, reference_from
from tidegate.clusters.rules.workflow import Operation
from tidegate.deploys.rules.job import TakenJob

_OPTIONS = ("output", "kubeconfig_output")
_OUTPUT = "cluster_arn"


class Terraform(Plain):
    """See the module."""

    deletes_from_outside = True

    def __init__(self, work: Work, preparation: Preparation, taken: TakenJob) -> None:
        self._work, self._preparation, self._taken = work, preparation, taken

    def validate(self) -> None:
        work = self._work
        refuse_unknown(work, work.options, _OPTIONS)
        if len(work.options) > 1:
            raise wrong(work, "provider has both output and kubeconfig_output: say one")
        if work.plan.terraform is None:
            raise TaskFailed("The plan has no plan of the root module. Nothing was applied. Plan again.")

    def status(self, key: Key) -> Status:
        """The reviewed plan says whether the module is as specified. How to reach the cluster is recorded, or read."""
        work = self._work
        if key is not work.own_key:
            return Status(None)
        recorded = work.order.current.reference if work.order.current else ""
        reference = reference_from(recorded) if recorded else self._reference()
        if not work.plan.unchanged:
            return Status(reference)
        is_gone = work.order.operation is Operation.DELETE
        return Status(reference, ready=True, observed=work.plan.spec_hash, gone=is_gone)

    def create(self, _key: Key) -> ClusterReference:
        if (found := self._reference()) is None:
            name = self._work.options.get("kubeconfig_output") or self._work.options.get("output") or _OUTPUT
            raise TaskFailed(
                f"The root module has no output {name} that says how to reach the cluster. Everything was applied. Add "
                "the output with the ARN of the EKS cluster, or name another in the cluster's file, and deploy again."
            )
        return found

    def upgrade(self, key: Key) -> None:
        """Compare what the cluster says with its file: whether the module follows the file, only that shows."""
        work = self._work
        reference = work.reference(key)
        if reference is None or not reference.access.has_api:
            return
        found, wanted = work.api(reference).version(), str(work.spec["kubernetes"])
        if is_version(found, wanted):
            work.say(f"{work.name} answers, with Kubernetes {found}")
        else:
            work.warn(
                f"The root module was applied, and {work.name} has Kubernetes {found}; its file says {wanted}. Let the "
                "module take the version from the file, or correct the file."
            )

    def delete(self, key: Key) -> None:
        """Ask EKS whether the cluster is gone."""
        work = self._work
        reference = work.reference(key)
        if reference is None or reference.access is not Access.EKS:
            return
        if describe(EksCluster.from_arn(reference.place), work.place.environ) is not None:
            raise TaskFailed(
                f"The root module was destroyed, but EKS still has {reference.place}: the module does not manage it. "
                "Delete it by hand, or let the module that manages it be the cluster's, and resume."
            )
        work.say(f"EKS has no cluster {work.name} any more")

    @cached_property
    def _state(self) -> ModuleState:
        return read_state(self._work.tools, self._preparation, self._taken)

    def _reference(self) -> ClusterReference | None:
        """Return how to reach the cluster: by an output, else by the only EKS cluster of the module."""
        options, name = self._work.options, self._work.name
        secret = options.get("kubeconfig_output")
        said = self._state.outputs.get(str(secret or options.get("output") or _OUTPUT))
        if isinstance(said, str) and said:
            return ClusterReference(name, Access.SECRET if secret else Access.EKS, said)
        clusters = self._state.eks_clusters
        if len(clusters) != 1 or (options and self._work.order.operation is not Operation.DELETE):
            return None
        return ClusterReference(name, Access.EKS, clusters[0])
