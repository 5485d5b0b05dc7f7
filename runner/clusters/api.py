"""A cluster's API server: the few calls that tasks make, each with a time limit, and a named error for each failure."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from runner.clusters.objects import Identity, Object, identity
from runner.faults import ClusterUnreachable, TaskFailed

#: Who owns the fields that components set.
FIELD_MANAGER = "tidegate"
#: Seconds to connect, and until an answer begins: an API server answers in milliseconds, and a large list in seconds.
TIMEOUT = (10, 30)
#: Objects in one answer to a list.
_PAGE = 500
_NOT_FOUND, _CONFLICT, _GONE = 404, 409, 410
_UNAUTHORIZED, _FORBIDDEN = 401, 403
_DONE = range(200, 300)
_BUSY = frozenset({429, 500, 502, 503, 504})
_LONGEST = 2_000
#: Bytes of an answer, answers to one list, and seconds until an answer is complete, whatever a server sends.
MOST_BYTES, MOST_PAGES, ANSWER_SECONDS = 128 << 20, 200, 300.0
_BLOCK = 1 << 16
_SEPARATORS = frozenset("/%?#")
_LOOPBACK = "127.0.0.1,localhost"

_JSON = "application/json"
_MERGE = "application/merge-patch+json"
_APPLY = "application/apply-patch+yaml"


class Refused(TaskFailed):
    """The API server refuses a call. ``status`` is HTTP's."""

    status = 0


class Api:
    """The API server that a kubeconfig leads to. ``name`` is the cluster's, for messages.

    ``directory`` is for what must be a file, such as certificates.

    ``check`` is called before each call: it raises Interrupted if the job must stop. Calls raise ClusterUnreachable if
    the server does not answer, and TaskFailed if it refuses.
    """

    def __init__(self, kubeconfig: Mapping[str, Any], name: str, directory: Path, check: Callable[[], None]) -> None:
        from kubernetes.client import ApiClient, Configuration  # noqa: PLC0415  # It takes most of a second.
        from kubernetes.config import ConfigException, load_kube_config_from_dict  # noqa: PLC0415
        from urllib3 import Timeout  # noqa: PLC0415

        configuration = Configuration()
        # The client takes a proxy from the environment, but forgets what is reached without it.
        configuration.no_proxy = ",".join(filter(None, (os.environ.get("NO_PROXY"), _LOOPBACK)))
        try:
            load_kube_config_from_dict(
                kubeconfig, client_configuration=configuration, persist_config=False, temp_file_path=str(directory)
            )
        except ConfigException as error:
            raise TaskFailed(f"The kubeconfig of {name} cannot be used: {error}. Replace it.") from error
        configuration.retries = False  # The task is tried again, by a new runner.
        self.name = name
        self._timeout = Timeout(connect=TIMEOUT[0], read=TIMEOUT[1])
        self._client = ApiClient(configuration)
        self._check = check
        self._resources: dict[str, Mapping[str, Mapping[str, Any]]] = {}

    def version(self) -> str:
        """Return the version of Kubernetes that the server has."""
        return str(self._call("GET", "/version")["gitVersion"])

    def get(self, of: Identity) -> Object | None:
        """Return an object; None if there is none, or no such kind."""
        try:
            return self._call("GET", self._path(of))
        except Refused as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def list(self, api_version: str, kind: str, selector: str = "", namespace: str = "") -> Iterator[Object]:
        """Yield the objects of a kind, of all namespaces or one; none if the cluster does not have the kind."""
        if (resource := self._resource(api_version, kind)) is None:
            return
        path, following = self._collection(api_version, resource, namespace), ""
        for _ in range(MOST_PAGES):
            query = {"limit": str(_PAGE), "labelSelector": selector, "continue": following}
            page = self._call("GET", path, {name: text for name, text in query.items() if text})
            for each in page.get("items") or ():
                yield {"apiVersion": api_version, "kind": kind, **each}
            following = page["metadata"].get("continue") or ""
            if not following:
                return
        raise TaskFailed(f"The cluster {self.name} has more than {MOST_PAGES * _PAGE:,} objects of the kind {kind}.")

    def apply(self, desired: Object, *, force: bool = False) -> Object:
        """Apply an object on the server's side. Raise TaskFailed if others own fields of it with other values."""
        query = {"fieldManager": FIELD_MANAGER, "force": json.dumps(force)}
        return self._call("PATCH", self._path(identity(desired)), query, desired, _APPLY)

    def create(self, desired: Object) -> Object:
        of = identity(desired)
        path = self._path(of).rpartition("/")[0]
        return self._call("POST", path, {"fieldManager": FIELD_MANAGER}, desired)

    def patch(self, of: Identity, change: Mapping[str, Any]) -> Object | None:
        """Merge a change into an object; return None if there is none. A resourceVersion in it is a condition."""
        try:
            return self._call("PATCH", self._path(of), {"fieldManager": FIELD_MANAGER}, change, _MERGE)
        except Refused as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    def delete(self, of: Identity, uid: str = "") -> None:
        """Delete an object, and what it owns, in the background. One that is gone, or has another uid, stays so."""
        options: Object = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self._call("DELETE", self._path(of), body=options)
        except Refused as error:
            if error.status == _NOT_FOUND or (uid and error.status == _CONFLICT):
                return
            raise

    def text(self, path: str, query: Mapping[str, str]) -> str:
        """Return an answer that is no JSON, such as a log."""
        return self._answer("GET", path, query).decode(errors="replace")

    def has(self, api_version: str, kind: str) -> bool:
        return self._resource(api_version, kind) is not None

    def is_namespaced(self, api_version: str, kind: str) -> bool:
        resource = self._resource(api_version, kind)
        if resource is None:
            raise self._unknown(api_version, kind)
        return bool(resource["namespaced"])

    def close(self) -> None:
        """Close its connections."""
        self._client.rest_client.pool_manager.clear()

    def learn_kinds(self) -> None:
        """Forget which kinds there are: definitions were added."""
        self._resources.clear()

    def _path(self, of: Identity) -> str:
        resource = self._resource(of.api_version, of.kind)
        if resource is None:
            raise self._unknown(of.api_version, of.kind)
        _refuse_path(of.name)
        return f"{self._collection(of.api_version, resource, of.namespace)}/{of.name}"

    def _unknown(self, api_version: str, kind: str) -> Refused:
        error = Refused(
            f"The cluster {self.name} does not know the kind {kind} of {api_version}. Install its definition with this "
            "component or an earlier one, or correct the kind."
        )
        error.status = _NOT_FOUND
        return error

    @staticmethod
    def _collection(api_version: str, resource: Mapping[str, Any], namespace: str) -> str:
        _refuse_path(namespace)
        place = f"/namespaces/{namespace}" if namespace and resource["namespaced"] else ""
        return f"{_group_path(api_version)}{place}/{resource['name']}"

    def _resource(self, api_version: str, kind: str) -> Mapping[str, Any] | None:
        if api_version not in self._resources:
            try:
                listed = self._call("GET", _group_path(api_version))["resources"]
            except Refused as error:
                if error.status != _NOT_FOUND:
                    raise
                return None
            self._resources[api_version] = {each["kind"]: each for each in listed if "/" not in each["name"]}
        return self._resources[api_version].get(kind)

    def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
    ) -> Object:
        result: Object = json.loads(self._answer(method, path, query, body, content_type))
        return result

    def _answer(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
    ) -> bytes:
        self._check()
        client, call = self._client, f"{method} {path}"
        headers = {**client.default_headers, "Accept": "application/json, */*", "Content-Type": content_type}
        client.update_params_for_auth(headers, [], ["BearerToken"])
        address = f"{client.configuration.host}{path}{f'?{urlencode(query)}' if query else ''}"
        with self._faults(call):
            # Not by the client itself, which reads all of an error, however long it is.
            response = client.rest_client.pool_manager.request(
                method,
                address,
                body=None if body is None else json.dumps(client.sanitize_for_serialization(body)),
                headers=headers,
                timeout=self._timeout,
                redirect=False,
                preload_content=False,
            )
            answer = self._read(response, call)
        if response.status not in _DONE:
            raise self._refused(response.status, response.reason, answer, call)
        return answer

    def _read(self, response: Any, call: str) -> bytes:
        """Return the whole answer. Raise TaskFailed for one without end."""
        answer, end = bytearray(), time.monotonic() + ANSWER_SECONDS
        while block := response.read1(_BLOCK):
            answer += block
            if len(answer) > MOST_BYTES or time.monotonic() > end:
                response.close()
                raise TaskFailed(
                    f"The cluster {self.name} does not end its answer to {call}: more than {MOST_BYTES >> 20} MB, or "
                    f"{ANSWER_SECONDS:.0f} s."
                )
            self._check()
        return bytes(answer)

    @contextmanager
    def _faults(self, call: str) -> Iterator[None]:
        from urllib3.exceptions import HTTPError, MaxRetryError, SSLError  # noqa: PLC0415  # As above.

        try:
            yield
        except HTTPError as error:
            reason = error.reason if isinstance(error, MaxRetryError) else error
            if isinstance(reason, SSLError):
                raise TaskFailed(
                    f"The connection to the cluster {self.name} is not secure: {reason}. Renew the server's "
                    "certificate, or correct the authority in the kubeconfig."
                ) from error
            raise ClusterUnreachable(f"The cluster {self.name} does not answer {call}: {reason}.") from error

    def _refused(self, code: int, reason: str, answer: bytes, call: str) -> ClusterUnreachable | TaskFailed:
        if code in _BUSY:
            return ClusterUnreachable(f"The cluster {self.name} cannot answer {call}: HTTP {code}.")
        status = _status(answer)
        message = str(status.get("message") or reason)[:_LONGEST]
        told = Refused(f"The cluster {self.name} refuses {call}: {message}")
        if code == _UNAUTHORIZED:
            told = Refused(
                f"The cluster {self.name} does not accept the credentials of its kubeconfig: they are wrong or have "
                "expired. Store new ones."
            )
        elif code == _FORBIDDEN:
            told = Refused(f"The cluster {self.name} forbids {call}: {message}. Grant that right to Tidegate's user.")
        elif code == _CONFLICT and (conflicts := _conflicts(status)):
            told = Refused(
                f"On the cluster {self.name}, {call.partition(' ')[2]} has fields that others manage: {conflicts}. "
                "Nothing of it was changed. Remove these fields from the component, or let the other "
                "manager give them up."
            )
        told.status = code
        return told


def _refuse_path(name: str) -> None:
    """Refuse a name that would lead elsewhere on the server: objects come from manifests, and from other servers."""
    if name in {".", ".."} or _SEPARATORS & set(name):
        raise TaskFailed(
            f"{name[:100]!r} is no name of an object: Kubernetes allows no {' '.join(sorted(_SEPARATORS))}."
        )


def _group_path(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"


def _status(answer: bytes) -> Mapping[str, Any]:
    try:
        status = json.loads(answer)
    except ValueError:
        return {}
    return status if isinstance(status, dict) else {}


def _conflicts(status: Mapping[str, Any]) -> str:
    """Return the fields that another manager owns, with that manager."""
    causes = (status.get("details") or {}).get("causes") or ()
    found = [each for each in causes if each.get("reason") == "FieldManagerConflict"]
    return "; ".join(f"{each.get('field', '?')} ({each.get('message', '?')})" for each in found)
