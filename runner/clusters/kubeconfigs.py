"""Kubeconfigs: what one that was stored may say, and the ones that are made for EKS."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.faults import TaskFailed

#: What a stored kubeconfig may say about a cluster and its user. Files and programs of elsewhere are not here.
_OF_CLUSTER = frozenset(
    {"server", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name", "proxy-url"}
)
_OF_USER = frozenset({"token", "client-certificate-data", "client-key-data", "username", "password"})
_SECRET = ("token", "client-key-data", "password")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """A kubeconfig with one cluster and one user. ``secrets`` are to be masked."""

    content: Mapping[str, Any]
    secrets: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return json.dumps(self.content)


def stored_kubeconfig(document: object, name: str) -> Kubeconfig:
    """Return the current context of a parsed kubeconfig. Raise TaskFailed for one that cannot be used here."""
    if not isinstance(document, Mapping):
        raise _wrong(name, "it is no mapping")
    context = _named(document, "contexts", "context", document.get("current-context"), name)
    cluster = _named(document, "clusters", "cluster", context.get("cluster"), name)
    user = _named(document, "users", "user", context.get("user"), name)
    for said, allowed, what in ((cluster, _OF_CLUSTER, "cluster"), (user, _OF_USER, "user")):
        if foreign := sorted(set(said) - allowed):
            raise _wrong(
                name,
                f"its {what} has {', '.join(foreign)}. Allowed: {', '.join(sorted(allowed))}: files and programs of "
                "another machine are not here",
            )
    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise _wrong(name, f"its server is {server[:80]!r}, which does not begin with https://")
    if not user:
        raise _wrong(name, "its user has no credentials")
    return _kubeconfig(name, cluster, user, (str(user[each]) for each in _SECRET if each in user))


def eks_kubeconfig(
    name: str, endpoint: str, authority: str, command: list[str], environ: Mapping[str, str]
) -> Kubeconfig:
    """Return a kubeconfig for EKS, whose tokens a command makes when needed: they last for 15 minutes."""
    login = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "command": command[0],
        "args": command[1:],
        "env": [{"name": key, "value": text} for key, text in sorted(environ.items())],
        "interactiveMode": "Never",
        "provideClusterInfo": False,
    }
    cluster = {"server": endpoint, "certificate-authority-data": authority}
    return _kubeconfig(name, cluster, {"exec": login}, ())


def _kubeconfig(name: str, cluster: Mapping[str, Any], user: Mapping[str, Any], secrets: Iterable[str]) -> Kubeconfig:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": dict(cluster)}],
        "users": [{"name": "tidegate", "user": dict(user)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "tidegate"}}],
    }
    return Kubeconfig(content, tuple(secrets))


def _named(document: Mapping[str, Any], group: str, field: str, wanted: object, name: str) -> Mapping[str, Any]:
    listed = document.get(group)
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, Mapping) and each.get("name") == wanted and isinstance(each.get(field), Mapping):
            return dict(each[field])
    raise _wrong(name, f"it has no {field} {str(wanted)[:80]!r}")


def _wrong(name: str, why: str) -> TaskFailed:
    return TaskFailed(f"The kubeconfig of {name} cannot be used: {why}. Store another one.")
