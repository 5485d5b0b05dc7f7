"""Repositories in nested groups (GitLab) in URLs: ``/repositories/GROUP/SUBGROUP/NAME``.

Routes have an owner and a name. The part before the name becomes one owner, joined by colons, which no group's name
has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BETWEEN = ":"
_OF_A_REPOSITORY = re.compile(
    r"(?P<before>(/api/v1)?/(?P<kind>repositories|pulls|config-updates|clusters)/)(?P<rest>.+)"
)
#: Path segments after a repository's name. A project in a nested group with such a name is not found here.
_AFTER = frozenset({"deployments", "roots"})
#: Paths after a config repository's name; ``*`` is a name or an id.
_AFTER_UPDATES = tuple(
    tuple(path.split("/"))
    for path in (
        "sets/*/targets/*/deployed",
        "sets/*/targets/*/token",
        "sets/*/environments/*/promote",
        "sets/*/environments/*/rollback",
        "sets/*/images/*",
        "sets/*/hold",
        "sets/*/release",
        "entries/*/evict",
        "entries/*/retry",
        "queue/pause",
        "queue/resume",
        "entries/*",
        "sets/*",
        "sets",
        "queue",
        "act",
    )
)
#: What may follow a cluster's name. Of a path of three parts, the last is a cluster: a repository in nested groups is
#: written with colons there.
_OF_CLUSTERS = frozenset({"resume", "release"})
_OWNER_AND_NAME = 2


def flattened(path: str) -> str:
    """Return the path of a request with a repository's groups as one owner."""
    found = _OF_A_REPOSITORY.fullmatch(path)
    parts = found["rest"].split("/") if found else []
    after = _parts_after(found["kind"], parts) if found else 0
    groups, rest = parts[: len(parts) - after - 1], parts[len(parts) - after - 1 :]
    if found is None or len(groups) < _OWNER_AND_NAME or not all(parts):
        return path
    return f"{found['before']}{_BETWEEN.join(groups)}/{'/'.join(rest)}"


def _parts_after(kind: str, parts: list[str]) -> int:
    """Return how many parts of a path follow a repository's name."""
    if kind == "clusters":
        return 2 if parts[-1] in _OF_CLUSTERS else 1
    if kind != "config-updates":
        return 1 if kind == "pulls" or parts[-1] in _AFTER else 0
    fitting = (each for each in _AFTER_UPDATES if len(parts) >= len(each) + _OWNER_AND_NAME and _fits(each, parts))
    return len(next(fitting, ()))


def _fits(pattern: tuple[str, ...], parts: list[str]) -> bool:
    end = parts[len(parts) - len(pattern) :]
    return all(wanted in {"*", part} for wanted, part in zip(pattern, end, strict=True))


def flattened_event(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a request of API Gateway with such a path."""
    path = flattened(str(event["rawPath"]))
    if path == event["rawPath"]:
        return event
    context = event["requestContext"]
    return {**event, "rawPath": path, "requestContext": {**context, "http": {**context["http"], "path": path}}}


def in_path(repository: str) -> str:
    """Return a repository's name as it is in a path in which something else may follow: groups with colons between."""
    owner, _, name = repository.rpartition("/")
    return f"{owner.replace('/', _BETWEEN)}/{name}"


def whole_owner(owner: str) -> str:
    """Return the groups that an owner in a path stands for."""
    return owner.replace(_BETWEEN, "/")
