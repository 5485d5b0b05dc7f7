"""A bundle of what a cluster says about itself: for people who look for the cause of a failure. Secrets are never read.

Each part swallows its own failure: it must not hide the first error of the workflow.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator

from runner.clusters.api import Api
from runner.clusters.objects import Object, conditions, identity
from runner.clusters.readiness import readiness
from runner.clusters.work import Work
from runner.faults import ClusterUnreachable, TaskFailed

#: Bytes of a bundle before it is packed, and of one container's log.
MOST_BYTES = 20 << 20
MOST_LOG = 64 << 10
#: Logs are read as far back as this: what led to a failure is younger.
_SECONDS_BACK = 3 * 3600
#: What no name of Kubernetes has: a server could have a bundle write anywhere when it is unpacked.
_UNSAFE = re.compile(r"^\.+|[^A-Za-z0-9.-]")
_LISTED = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("cluster.x-k8s.io/v1beta2", "Cluster"),
    ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io/v1beta2", "Machine"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
    ("argoproj.io/v1alpha1", "Application"),
)


def diagnose(work: Work, api: Api) -> bytes:
    """Return the bundle, a ZIP file, masked as logs are."""
    return _Bundle(work, api).made()


class _Bundle:
    def __init__(self, work: Work, api: Api) -> None:
        self._work, self._api = work, api
        self._left = MOST_BYTES
        self._content = io.BytesIO()
        self._problems: list[str] = []

    def made(self) -> bytes:
        with zipfile.ZipFile(self._content, "w", zipfile.ZIP_DEFLATED) as file:
            self._add(file, "version.txt", self._api.version)
            self._add(file, "not-ready.txt", lambda: "\n".join(self._not_ready()))
            self._add(file, "events.txt", lambda: "\n".join(self._events()))
            self._add(file, "conditions.json", lambda: json.dumps(list(self._conditions()), indent=1))
            self._add_logs(file)
            file.writestr("problems.txt", "\n".join(self._problems))
        return self._content.getvalue()

    def _add(self, file: zipfile.ZipFile, name: str, read: Callable[[], str]) -> None:
        try:
            text = self._work.tools.log.masker.mask(read()).encode()[: self._left]
        except (ClusterUnreachable, TaskFailed, KeyError, TypeError) as error:
            self._problems.append(f"{name}: {error}")
            return
        self._left -= len(text)
        file.writestr(name, text)

    def _listed(self) -> Iterator[Object]:
        for version, kind in _LISTED:
            try:
                yield from self._api.list(version, kind)
            except (ClusterUnreachable, TaskFailed) as error:
                self._problems.append(f"{kind}: {error}")

    def _not_ready(self) -> Iterator[str]:
        for found in self._listed():
            if not (state := readiness(found)).ready:
                yield f"{identity(found)}: {state.why}"

    def _conditions(self) -> Iterator[Object]:
        for found in self._listed():
            yield {"object": str(identity(found)), "conditions": list(conditions(found).values())}

    def _events(self) -> Iterator[str]:
        events = sorted(self._api.list("v1", "Event"), key=_when)
        for each in events:
            of = each["involvedObject"]
            place = f"{of.get('namespace') or '-'} {of.get('kind')}/{of.get('name')}"
            yield f"{_when(each)} {each.get('type')} {place} {each.get('reason')}: {each.get('message')}"

    def _add_logs(self, file: zipfile.ZipFile) -> None:
        try:
            pods = sorted(self._api.list("v1", "Pod"), key=_is_well)
        except (ClusterUnreachable, TaskFailed) as error:
            self._problems.append(f"pods: {error}")
            return
        for pod in pods:
            of = identity(pod)
            for container in pod["spec"]["containers"]:
                if self._left <= 0:
                    self._problems.append(f"The bundle is full: there are no logs of {of}.")
                    return
                places = (of.namespace, of.name, container["name"])
                name = "/".join(("logs", *(_UNSAFE.sub("_", each) for each in places))) + ".txt"
                path = f"/api/v1/namespaces/{of.namespace}/pods/{of.name}/log"
                query = {
                    "container": container["name"],
                    "limitBytes": str(MOST_LOG),
                    "sinceSeconds": str(_SECONDS_BACK),
                }
                self._add(file, name, lambda path=path, query=query: self._api.text(path, query))  # type: ignore[misc]


def _when(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


def _is_well(pod: Object) -> bool:
    """Pods that are not ready come first: there may be no room for all."""
    ready = conditions(pod).get("Ready")
    return bool(ready and ready.get("status") == "True")
