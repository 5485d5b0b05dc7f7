"""How a task reaches clusters: from references to kubeconfigs and API servers."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from runner.clusters.api import Api
from runner.clusters.eks import EksCluster, describe, login_environment
from runner.clusters.kubeconfigs import Kubeconfig, eks_kubeconfig, stored_kubeconfig
from runner.faults import ClusterUnreachable, TaskFailed
from runner.job import Tools
from tidegate.aws.client import AwsError
from tidegate.clusters.rules.context import Access, ClusterReference

_SECRET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Connections:
    """The clusters that a task of this repository reaches, by the credentials of ``environ``."""

    def __init__(self, tools: Tools, repository: str, environ: Mapping[str, str]) -> None:
        self._tools, self._repository, self._environ = tools, repository, environ
        self._apis: dict[ClusterReference, Api] = {}
        self._made: dict[ClusterReference, Kubeconfig] = {}

    def api(self, reference: ClusterReference) -> Api:
        """Return a cluster's API server. Raise TaskFailed for one that has none."""
        made = self._kubeconfig(reference)
        if made is None:
            raise TaskFailed(f"The cluster {reference.name} has no API server that is known.")
        if reference not in self._apis:
            self._apis[reference] = Api(made.content, reference.name, self._kubeconfigs, self._tools.interruption.check)
        return self._apis[reference]

    def close(self) -> None:
        """Close the connections to API servers."""
        for each in self._apis.values():
            each.close()

    def kubeconfig(self, reference: ClusterReference) -> Path | None:
        """Return a file for commands, None for a cluster without an API server.

        It is never read here: a command could have put a program into it, which would run as the runner.
        """
        made = self._kubeconfig(reference)
        if made is None:
            return None
        file = self._kubeconfigs / f"{reference.name}.json"
        file.unlink(missing_ok=True)
        file.touch(mode=0o600, exist_ok=False)
        file.write_text(made.text, encoding="utf-8")
        return file

    @property
    def _kubeconfigs(self) -> Path:
        directory = self._tools.directory / "kubeconfigs"
        directory.mkdir(mode=0o700, exist_ok=True)
        return directory

    def _kubeconfig(self, reference: ClusterReference) -> Kubeconfig | None:
        if not reference.access.has_api:
            return None
        if reference not in self._made:
            made = self._stored(reference) if reference.access is Access.SECRET else self._eks(reference)
            self._tools.log.masker.add(made.secrets)
            self._made[reference] = made
        return self._made[reference]

    def _stored(self, reference: ClusterReference) -> Kubeconfig:
        import yaml  # noqa: PLC0415  # Not every task reads one.

        secret = self._secret_name(reference.place)
        try:
            found = self._tools.aws.call("secretsmanager", "GetSecretValue", {"SecretId": secret})
        except AwsError as error:
            if error.code == "ResourceNotFoundException":
                raise TaskFailed(
                    f"There is no secret {secret}: store the kubeconfig of {reference.name} there."
                ) from error
            raise ClusterUnreachable(f"The kubeconfig of {reference.name} cannot be read: {error}.") from error
        text = str(found.get("SecretString") or "")
        self._tools.log.masker.add([text])
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise TaskFailed(f"The secret {secret} is no kubeconfig: it is no YAML.") from error
        return stored_kubeconfig(document, reference.name)

    def _secret_name(self, place: str) -> str:
        """Return the name of a repository's own secret: it cannot name that of another one."""
        if not _SECRET.fullmatch(place):
            raise TaskFailed(
                f"{place[:100]!r} is no name of a secret. Use letters, digits, dots, dashes and underscores."
            )
        return f"{self._tools.settings.cluster_secrets}/{self._repository}/{place}"

    def _eks(self, reference: ClusterReference) -> Kubeconfig:
        cluster = EksCluster.from_arn(reference.place)
        described = describe(cluster, self._environ)
        if described is None:
            raise TaskFailed(f"There is no EKS cluster {cluster.name} in {cluster.region}.")
        if described.get("status") not in {"ACTIVE", "UPDATING"}:
            raise ClusterUnreachable(f"The EKS cluster {cluster.name} is {described.get('status')}.")
        command = [sys.executable, "-m", "runner.clusters.eks_token", reference.place]
        authority = described["certificateAuthority"]["data"]
        environ = login_environment(self._environ)
        return eks_kubeconfig(reference.name, described["endpoint"], authority, command, environ)
