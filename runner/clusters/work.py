"""What a task or hook works with: its order, the reviewed plan, the checkout, the clusters, and the bucket."""

from __future__ import annotations

import io
import json
import re
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from runner.clusters.api import Api
from runner.clusters.eks import EksCluster, describe, login_environment
from runner.clusters.kubeconfigs import Kubeconfig, eks_kubeconfig, stored_kubeconfig
from runner.clusters.values import Values, read_values
from runner.faults import ClusterUnreachable, RunnerFault, StepFailed, TaskFailed
from runner.job import Place, Tools
from runner.steps import REPORT_SECONDS, job_variables
from runner.workspace import place_in
from tidegate.aws.client import AwsError
from tidegate.clusters.rules.context import (
    CONTEXTS,
    Access,
    ClusterReference,
    Context,
    Key,
    reference_from,
    reference_text,
)
from tidegate.clusters.rules.order import TaskOrder
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook
from tidegate.deploys.rules.cluster import ClusterKind
from tidegate.deploys.rules.job import Job

#: The exit code of a command that says: nothing is wrong, but something does not answer (EX_TEMPFAIL of sysexits.h).
UNREACHABLE = 75
#: Seconds between two looks at what must become ready.
_PAUSE = 2.0
_SECRET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MISSING = frozenset({"NoSuchKey", "ResourceNotFoundException"})


@dataclass
class Work:
    """One task or hook. ``spec`` is the cluster's file, parsed; ``hook`` None for a task.

    ``pause`` waits for seconds. ``found`` and ``warnings`` are those of the result.
    """

    tools: Tools
    job: Job
    place: Place
    order: TaskOrder
    plan: ClusterPlan
    spec: Mapping[str, Any]
    hook: PlannedHook | None = None
    pause: Callable[[float], None] = time.sleep
    warnings: list[str] = field(default_factory=list)
    found: bool = False
    _apis: dict[ClusterReference, Api] = field(default_factory=dict)
    _made: dict[ClusterReference, Kubeconfig] = field(default_factory=dict)

    @cached_property
    def context(self) -> Context:
        return CONTEXTS[self.plan.workflow](dict(self.order.values))

    @property
    def name(self) -> str:
        return self.order.cluster.name

    @property
    def own_key(self) -> Key:
        """The key of the cluster that the workflow is about."""
        return Key.MANAGEMENT if self.order.cluster.kind is ClusterKind.MANAGEMENT else Key.WORKLOAD

    @property
    def options(self) -> Mapping[str, Any]:
        """What the cluster's file says under ``provider``."""
        said = self.spec.get("provider")
        return said if isinstance(said, Mapping) else {}

    @property
    def seconds_left(self) -> float:
        return self.tools.begun + self.job.seconds - REPORT_SECONDS - time.monotonic()

    def find(self, effect: str) -> None:
        """Tell that there was nothing to do: the effect was there before."""
        self.say(f"nothing to do: {effect}")
        self.found = True

    def say(self, text: str) -> None:
        self.tools.log.say(text)

    def warn(self, text: str) -> None:
        """Tell people, in the log and in the result."""
        self.say(text)
        self.warnings.append(self.tools.log.masker.mask(text)[:1000])

    def until(self, ready: Callable[[], str], what: str, seconds: float) -> None:
        """Wait until nothing is in the way. ``ready`` returns what is. Raise TaskFailed at the time limit."""
        end = time.monotonic() + min(seconds, self.seconds_left)
        told = ""
        while why := ready():
            self.tools.interruption.check()
            if why != told:
                self.say(f"waiting for {what}: {why}")
                told = why
            if time.monotonic() > end:
                raise TaskFailed(f"{what} is not ready after {seconds:.0f} s: {why}.")
            self.pause(_PAUSE)

    # Clusters

    def reference(self, key: Key) -> ClusterReference | None:
        """Return how to reach a cluster, None if no task has said so."""
        return reference_from(self.context.text(key)) if self.context.has(key) else None

    def api(self, reference: ClusterReference) -> Api:
        """Return a cluster's API server. Raise TaskFailed for one that has none."""
        made = self._kubeconfig(reference)
        if made is None:
            raise TaskFailed(f"The cluster {reference.name} has no API server that is known.")
        if reference not in self._apis:
            self._apis[reference] = Api(made.content, reference.name, self._kubeconfigs, self.tools.interruption.check)
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
        directory = self.tools.directory / "kubeconfigs"
        directory.mkdir(mode=0o700, exist_ok=True)
        return directory

    def _kubeconfig(self, reference: ClusterReference) -> Kubeconfig | None:
        if not reference.access.has_api:
            return None
        if reference not in self._made:
            made = self._stored(reference) if reference.access is Access.SECRET else self._eks(reference)
            self.tools.log.masker.add(made.secrets)
            self._made[reference] = made
        return self._made[reference]

    def _stored(self, reference: ClusterReference) -> Kubeconfig:
        import yaml  # noqa: PLC0415  # Not every task reads one.

        secret = self.secret_name(reference.place)
        try:
            found = self.tools.aws.call("secretsmanager", "GetSecretValue", {"SecretId": secret})
        except AwsError as error:
            if error.code in _MISSING:
                raise TaskFailed(
                    f"There is no secret {secret}: store the kubeconfig of {reference.name} there."
                ) from error
            raise ClusterUnreachable(f"The kubeconfig of {reference.name} cannot be read: {error}.") from error
        text = str(found.get("SecretString") or "")
        self.tools.log.masker.add([text])
        try:
            document = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise TaskFailed(f"The secret {secret} is no kubeconfig: it is no YAML.") from error
        return stored_kubeconfig(document, reference.name)

    def secret_name(self, place: str) -> str:
        """Return the name of a repository's own secret: it cannot name that of another one."""
        if not _SECRET.fullmatch(place):
            raise TaskFailed(
                f"{place[:100]!r} is no name of a secret. Use letters, digits, dots, dashes and underscores."
            )
        return f"{self.tools.settings.cluster_secrets}/{self.job.repository}/{place}"

    def _eks(self, reference: ClusterReference) -> Kubeconfig:
        import sys  # noqa: PLC0415  # As above.

        cluster = EksCluster.from_arn(reference.place)
        described = describe(cluster, self.place.environ)
        if described is None:
            raise TaskFailed(f"There is no EKS cluster {cluster.name} in {cluster.region}.")
        if described.get("status") not in {"ACTIVE", "UPDATING"}:
            raise ClusterUnreachable(f"The EKS cluster {cluster.name} is {described.get('status')}.")
        command = [sys.executable, "-m", "runner.clusters.eks_token", reference.place]
        authority = described["certificateAuthority"]["data"]
        environ = login_environment(self.place.environ)
        return eks_kubeconfig(reference.name, described["endpoint"], authority, command, environ)

    # Programs

    def run(self, argv: list[str], what: str, seconds: float, environ: Mapping[str, str]) -> int:
        """Run a program in the root's directory, and return its exit code, 0 or more, but not 75.

        Raise ClusterUnreachable for 75, TaskFailed if it cannot be started, is killed or exceeds its time limit.
        """
        limit = min(seconds, self.seconds_left)
        if limit <= 0:
            raise TaskFailed(f"{what} did not run: the job reached its time limit.")
        self.say(f"{what}: {' '.join(argv)[:200]!a}")
        try:
            code = self.tools.processes.run_program(argv, self.place.root, environ, limit)
        except StepFailed as fault:
            raise TaskFailed(f"{what} {fault}.") from fault
        except (OSError, ValueError) as error:
            raise TaskFailed(f"{what} failed to start: {error}. Is it in the repository, and executable?") from error
        self.tools.log.end_line()
        self.tools.interruption.check()
        if code == UNREACHABLE:
            raise ClusterUnreachable(f"{what} says that something does not answer (exit code {code}).")
        if code < 0:
            raise TaskFailed(f"{what} was killed by {signal.Signals(-code).name}.")
        return code

    def command(self, argv: list[str], what: str, seconds: float) -> Values:
        """Run a command of the repository, and return the values that it has written. Raise TaskFailed."""
        file = self.tools.directory / "values"
        file.unlink(missing_ok=True)
        code = self.run(argv, what, seconds, self.environ(file))
        if code:
            raise TaskFailed(f"{what} failed with exit code {code}.")
        values = read_values(file, what)
        for key, text in values.items():
            if self.tools.log.masker.mask(text) != text:
                raise TaskFailed(
                    f"{what} has written a secret into the value {key}, which would be stored and shown. Store it in "
                    "Secrets Manager, and write its name."
                )
        return values

    def environ(self, values: Path) -> dict[str, str]:
        """Return the variables of a command: those of steps, how to reach the clusters, and the context."""
        context = self.tools.directory / "context.json"
        context.write_text(json.dumps(dict(self.order.values), indent=1), encoding="utf-8")
        order = self.order
        clusters = {key: self.kubeconfig(found) for key in _CLUSTERS if (found := self.reference(key))}
        files = {f"TIDEGATE_KUBECONFIG_{_CLUSTERS[key]}": str(file) for key, file in clusters.items() if file}
        nearest = next((clusters[key] for key in (self.own_key, *_CLUSTERS) if clusters.get(key)), None)
        return {
            **self.place.environ,
            **job_variables(self.job),
            **dict(self.job.run.variables),
            **files,
            **({"KUBECONFIG": str(nearest)} if nearest else {}),
            "TIDEGATE_CLUSTER": order.cluster.name,
            "TIDEGATE_CLUSTER_KIND": order.cluster.kind,
            "TIDEGATE_OPERATION": order.operation,
            "TIDEGATE_TASK": order.task,
            "TIDEGATE_HOOK": order.hook,
            "TIDEGATE_FENCE": str(order.fence),
            "TIDEGATE_SPEC": str(self.tools.source / order.cluster.spec),
            "TIDEGATE_SPEC_HASH": self.plan.spec_hash,
            "TIDEGATE_CONTEXT": str(context),
            "TIDEGATE_VALUES": str(values),
        }

    def path(self, text: str) -> Path:
        """Return a file or directory of the commit. Raise TaskFailed if it is none."""
        found = place_in(self.tools.source, self.tools.source / text)
        if found is None or not found.exists():
            raise TaskFailed(f"{text!r} is not in this commit. Correct the path in tidegate.yaml, or add it.")
        return found

    # The bucket

    def key(self, name: str) -> str:
        """Return where something of this cluster lies in the artifact bucket."""
        return f"clusters/{self.job.repository}/{self.name}/{name}"

    def stored(self, key: str) -> bytes | None:
        content = io.BytesIO()
        try:
            self.tools.aws.get_object(self.tools.settings.bucket, key, content)
        except AwsError as error:
            if error.code in _MISSING:
                return None
            raise RunnerFault(f"{key} cannot be read: {error}.") from error
        return content.getvalue()

    def store(self, key: str, content: bytes, content_type: str = "application/json") -> None:
        try:
            self.tools.aws.put_object(self.tools.settings.bucket, key, content, content_type)
        except AwsError as error:
            raise RunnerFault(f"{key} cannot be stored: {error}.") from error

    def discard(self, key: str) -> None:
        try:
            self.tools.aws.delete_object(self.tools.settings.bucket, key)
        except AwsError as error:
            raise RunnerFault(f"{key} cannot be deleted: {error}.") from error


#: The clusters that a context may have, each with its word in names of variables; the nearest first.
_CLUSTERS = {Key.WORKLOAD: "WORKLOAD", Key.MANAGEMENT: "MANAGEMENT", Key.BOOTSTRAP: "BOOTSTRAP"}


def value(key: Key, reference: ClusterReference) -> tuple[str, str]:
    """Return a reference as a value of the context."""
    return key.value, reference_text(reference)
