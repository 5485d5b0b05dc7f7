"""A bootstrap cluster that no command makes: one that is there, or an EKS cluster that is made for it.

Its section of the cluster's file is ``provider.bootstrap``. With ``bootstrap: existing``: ``secret: NAME`` of a
kubeconfig, or ``eks: ARN``. With ``bootstrap: eks``: ``role`` and ``node_role``, ARNs of the roles of the cluster and
of its nodes, and ``subnets``. EKS runs the nodes itself (Auto Mode), so that nothing else is to be made, and nodes and
load balancers go with the cluster. Who makes it administers it, so that it needs no access entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from runner.clusters.eks import IN_USE, NOT_FOUND, EksAccount, EksRefused
from runner.clusters.providers.options import reference, refuse_unknown, wrong
from runner.clusters.providers.protocol import Status
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import Access, ClusterReference, Key
from tidegate.clusters.rules.kubernetes_version import version_of
from tidegate.clusters.rules.spec import BootstrapPlace

_KEY = "bootstrap"
_WHERE = f"provider.{_KEY}"
_EKS_OPTIONS = ("role", "node_role", "subnets")
#: EKS makes a cluster in some ten minutes, and deletes one in as many: twice that is a failure.
_SECONDS = 1800.0
#: Whose a cluster is: another one of its name is left alone.
_TAG = "tidegate:cluster"


class Bootstrap(Protocol):
    """Makes and deletes the bootstrap cluster of a management cluster, as a provider would: each may run twice."""

    def validate(self) -> None: ...

    def status(self) -> Status: ...

    def create(self) -> ClusterReference: ...

    def delete(self) -> None: ...


def bootstrap_of(work: Work) -> Bootstrap | None:
    """Return what makes the bootstrap cluster, None if the file leaves that to a command. Raise TaskFailed."""
    said = work.options.get(_KEY)
    if said is None:
        return None
    if not isinstance(said, Mapping):
        raise wrong(work, f"{_WHERE} is no mapping")
    return _Eks(work, said) if work.spec.get(_KEY) == BootstrapPlace.EKS else _Existing(work, said)


class _Existing:
    """One that others have made: it stays."""

    def __init__(self, work: Work, said: Mapping[str, Any]) -> None:
        self._work, self._said = work, said

    def validate(self) -> None:
        found = self.create()
        self._work.say(f"{found.name} answers, with Kubernetes {self._work.api(found).version()}")

    def status(self) -> Status:
        """It is never gone, and what is made of it is no specification: creation and deletion do nothing."""
        return Status(self.create())

    def create(self) -> ClusterReference:
        return reference(self._work, self._said, _WHERE, f"{self._work.name}-{Key.BOOTSTRAP}")

    def delete(self) -> None:
        self._work.say(f"{self.create().name} was made by others: it is left alone")


class _Eks:
    """One that EKS makes for it."""

    def __init__(self, work: Work, said: Mapping[str, Any]) -> None:
        self._work, self._said = work, said
        self._account = EksAccount(work.place.environ)
        whose = f"{work.job.repository}/{work.name}"
        self._whose = f"{work.tools.settings.cluster_secrets}/{whose}"
        self.name = f"bootstrap-{work.name}-{hashlib.sha256(self._whose.encode()).hexdigest()[:8]}"

    def validate(self) -> None:
        refuse_unknown(self._work, self._said, _EKS_OPTIONS, _WHERE)
        for option in ("role", "node_role"):
            if not isinstance(self._said.get(option), str):
                raise wrong(self._work, f"{_WHERE}.{option} is missing: write the ARN of a role")
        subnets = self._said.get("subnets")
        if (
            not isinstance(subnets, Sequence)
            or isinstance(subnets, str)
            or not all(isinstance(s, str) for s in subnets)
        ):
            raise wrong(self._work, f"{_WHERE}.subnets is no list of subnets, of two zones at least")
        self._own()

    def status(self) -> Status:
        found = self._own()
        if found is None:
            return Status(None, gone=True)
        ready = found["status"] == "ACTIVE"
        observed = self._work.plan.spec_hash if ready else ""
        return Status(self._reference(found), ready=ready, observed=observed, why=f"it is {found['status']}")

    def create(self) -> ClusterReference:
        work = self._work
        work.until(lambda: "the former one is deleted" if self._is("DELETING") else "", self.name, _SECONDS)
        if self._own() is None:
            self._ask("POST", "", self._request())
            work.say(f"EKS makes the cluster {self.name}")
        work.until(self._unready, f"the EKS cluster {self.name}", _SECONDS)
        return self._reference(self._own() or {})

    def delete(self) -> None:
        if self._own() is None:
            return
        work = self._work
        work.until(lambda: "it is still made" if self._is("CREATING") else "", self.name, _SECONDS)
        if not self._is("DELETING"):
            self._ask("DELETE", self.name)
        work.until(lambda: "" if self._own() is None else "it is deleted", f"the EKS cluster {self.name}", _SECONDS)

    def _is(self, status: str) -> bool:
        return (self._own() or {}).get("status") == status

    def _unready(self) -> str:
        status = (self._own() or {}).get("status", "gone")
        if status == "FAILED":
            raise TaskFailed(f"EKS could not make the cluster {self.name}: see why in its console, and resume.")
        return "" if status == "ACTIVE" else f"it is {status}"

    def _own(self) -> Mapping[str, Any] | None:
        """Return what EKS knows of the cluster, None if there is none. Raise TaskFailed for one of somebody else."""
        found = self._account.cluster(self.name)
        if found is not None and (found.get("tags") or {}).get(_TAG) != self._whose:
            raise TaskFailed(
                f"There is an EKS cluster {self.name} without the tag {_TAG}={self._whose}, so somebody else has made "
                "it. It was left alone: delete it, or give the cluster another name."
            )
        return found

    def _ask(self, method: str, name: str, body: Mapping[str, Any] | None = None) -> None:
        try:
            self._account.ask(method, name, body)
        except EksRefused as refusal:
            # Another attempt was first.
            if (method, refusal.status) not in {("POST", IN_USE), ("DELETE", NOT_FOUND)}:
                raise TaskFailed(
                    f"{refusal} The role that applies needs eks:CreateCluster, eks:DescribeCluster, eks:DeleteCluster "
                    f"and eks:TagResource, and iam:PassRole for {_WHERE}.role and {_WHERE}.node_role."
                ) from refusal

    def _request(self) -> dict[str, Any]:
        version = version_of(str(self._work.spec["kubernetes"]))
        return {
            "name": self.name,
            "version": f"{version.major}.{version.minor}",
            "roleArn": self._said["role"],
            "resourcesVpcConfig": {"subnetIds": [*self._said["subnets"]]},
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
            # Auto Mode: all three together (EKS User Guide, "Create an EKS Auto Mode Cluster with the AWS CLI").
            "computeConfig": {
                "enabled": True,
                "nodePools": ["general-purpose", "system"],
                "nodeRoleArn": self._said["node_role"],
            },
            "kubernetesNetworkConfig": {"elasticLoadBalancing": {"enabled": True}},
            "storageConfig": {"blockStorage": {"enabled": True}},
            "bootstrapSelfManagedAddons": False,
            "tags": {_TAG: self._whose},
        }

    def _reference(self, found: Mapping[str, Any]) -> ClusterReference:
        return ClusterReference(f"{self._work.name}-{Key.BOOTSTRAP}", Access.EKS, str(found.get("arn", "")))
