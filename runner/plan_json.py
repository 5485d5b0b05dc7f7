"""Read a plan's JSON of any size.

The document is never parsed as a whole: a pattern walks over the mapped file and finds the few relevant parts, and only
those are parsed, one after the other.
"""

from __future__ import annotations

import json
import mmap
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tidegate.plans.rules.plan import PlannedChanges, planned_changes
from tidegate.plans.rules.structured import (
    Mask,
    RowDetails,
    Section,
    action_row,
    deferred_row,
    output_row,
    resource_row,
)

_TOKEN = re.compile(rb'("(?:[^"\\]++|\\.)*+")(\s*+:)?|([{\[])|([}\]])', re.DOTALL)

_WINDOW = 4 * 1024 * 1024

#: Containers whose entries are parsed, by their keys; ``*`` is any element of a list.
_CONTAINERS = frozenset(
    {
        "/resource_changes",
        "/resource_drift",
        "/output_changes",
        "/action_invocations",
        "/deferred_changes",
        "/deferred_action_invocations",
        "/variables",
        "/configuration/root_module/variables",
        "/prior_state/values/outputs",
    }
)
_PRIOR_RESOURCES = re.compile(r"/prior_state/values/root_module(/child_modules/\*)*/resources")
_ON_THE_WAY = re.compile(
    r"(/configuration(/root_module)?|/prior_state(/values(/root_module(/child_modules(/\*/child_modules)*(/\*)?)?)?)?)?"
)


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What a plan changes, its sensitive values, and the name of the provider of each resource by its address."""

    changes: PlannedChanges
    sensitive: frozenset[str]
    providers: Mapping[str, str]


@dataclass(slots=True)
class _Parts:
    resources: list[dict[str, Any]] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)
    others: dict[str, list[None]] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    secret_variables: set[str] = field(default_factory=set)
    sensitive: set[str] = field(default_factory=set)
    providers: dict[str, str] = field(default_factory=dict)
    managed: int = 0


def read_plan(path: Path) -> PlanFacts:
    """Read a plan's JSON file. Raise ValueError when it is not a plan."""
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.startswith(b"{") or b'"format_version"' not in head:
        raise ValueError("this is not a JSON plan")
    parts = _Parts()
    for container, key, entry in entries(path):
        _note(parts, container, key, entry)
    for name in parts.secret_variables:
        parts.sensitive.update(_leaves(parts.variables.get(name)))
    reduced: dict[str, Any] = {"resource_changes": parts.resources, "output_changes": parts.outputs}
    reduced |= {"format_version": "1", **parts.others}
    changes = replace(planned_changes(reduced), resources=parts.managed)
    return PlanFacts(changes, frozenset(parts.sensitive), parts.providers)


def rows_of(path: Path, mask: Mask) -> Iterator[RowDetails]:
    """Yield the rows of a plan's JSON file, without its sensitive values; ``mask`` replaces the known ones in texts.

    Raise ValueError, KeyError, TypeError, AttributeError or RecursionError when it is not a plan.
    """
    for container, key, entry in entries(path):
        row = _row(container, key, entry, mask)
        if row is not None:
            yield row


def _row(container: str, key: str, entry: dict[str, Any], mask: Mask) -> RowDetails | None:
    match container:
        case "/resource_changes":
            return resource_row(entry, mask)
        case "/resource_drift":
            return resource_row(entry, mask, Section.DRIFT)
        case "/output_changes":
            return output_row(key, entry, mask)
        case "/action_invocations":
            return action_row(entry, mask)
        case "/deferred_changes" | "/deferred_action_invocations":
            return deferred_row(entry, mask)
    return None


def _note(parts: _Parts, container: str, key: str, entry: dict[str, Any]) -> None:
    match container:
        case "/resource_changes":
            parts.sensitive.update(_of_change(entry["change"]))
            parts.resources.append(_reduced(entry))
            parts.providers[entry.get("address", "")] = sys.intern(entry.get("provider_name", ""))
        case "/resource_drift":
            parts.sensitive.update(_of_change(entry["change"]))
        case "/output_changes":
            parts.sensitive.update(_of_change(entry))
            parts.outputs[key] = {"actions": entry["actions"]}
        case "/action_invocations" | "/deferred_changes" | "/deferred_action_invocations":
            parts.sensitive.update(_of_other(entry))
            parts.others.setdefault(container[1:], []).append(None)  # They are only counted.
        case "/variables":
            parts.variables[key] = entry.get("value")
        case "/configuration/root_module/variables":
            if entry.get("sensitive"):
                parts.secret_variables.add(key)
        case "/prior_state/values/outputs":
            parts.sensitive.update(_leaves(entry.get("value")) if entry.get("sensitive") else ())
        case _:
            parts.managed += entry.get("mode") == "managed"
            parts.sensitive.update(_marked(entry.get("values"), entry.get("sensitive_values")))


def _reduced(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource's change without values, for the counts."""
    change = {name: resource["change"][name] for name in ("actions", "importing") if name in resource["change"]}
    return {name: resource[name] for name in ("address", "previous_address") if name in resource} | {"change": change}


def _of_other(entry: dict[str, Any]) -> Iterator[str]:
    """Yield the sensitive values of an action's invocation or of something deferred."""
    invocation = entry.get("action_invocation", entry)
    yield from _marked(invocation.get("config_values"), invocation.get("config_sensitive"))
    yield from _of_change(entry.get("resource_change", {}).get("change", {}))


def _of_change(change: dict[str, Any]) -> Iterator[str]:
    yield from _marked(change.get("before"), change.get("before_sensitive"))
    yield from _marked(change.get("after"), change.get("after_sensitive"))


def _marked(value: Any, marks: Any) -> Iterator[str]:
    """Yield the plain values that ``marks``, a tree shaped like ``value``, marks with true."""
    if marks is True:
        yield from _leaves(value)
    elif isinstance(marks, dict) and isinstance(value, dict):
        for key, mark in marks.items():
            yield from _marked(value.get(key), mark)
    elif isinstance(marks, list) and isinstance(value, list):
        for each, mark in zip(value, marks, strict=False):
            yield from _marked(each, mark)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        yield str(value)


def entries(path: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the relevant entries: the container's path, the entry's key (``*`` in a list), the parsed entry."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
        yield from _walk(text)


def _walk(text: mmap.mmap) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Walk over the tokens. ``paths`` holds each open container's path; None where nothing matters below."""
    paths: list[str | None] = []
    key, start, skipped, released = "*", 0, 0, 0
    for match in _TOKEN.finditer(text):
        if match[3] is not None:
            if match.start() - released > _WINDOW:
                released = match.start()
                # Read pages count as the runner's memory until they are released.
                text.madvise(mmap.MADV_DONTNEED)
            if skipped or (paths and paths[-1] is None):
                skipped += 1
            elif paths and _is_container(paths[-1]):
                start, skipped = match.start(), 1
            else:
                paths.append(_below(paths, key))
                key = "*"
        elif match[4] is not None:
            if not skipped:
                paths.pop()
                key = "*"
                continue
            skipped -= 1
            container = paths[-1]
            if not skipped and container is not None:
                yield container, key, _parsed(text[start : match.end()])
                key = "*"
        elif match[2] is not None and not skipped:
            key = json.loads(text[match.start(1) : match.end(1)])


def _parsed(entry: bytes) -> dict[str, Any]:
    """Parse an entry. Python refuses numbers of thousands of digits, which engines write: they stay text."""
    try:
        parsed: dict[str, Any] = json.loads(entry)
    except ValueError:
        parsed = json.loads(entry, parse_int=str)
    return parsed


def _below(paths: list[str | None], key: str) -> str | None:
    """Return the path of the container under ``key``, or None if nothing in it is relevant."""
    if not paths:
        return ""
    path = f"{paths[-1]}/{key}"
    return path if _is_container(path) or _ON_THE_WAY.fullmatch(path) else None


def _is_container(path: str | None) -> bool:
    return path is not None and (path in _CONTAINERS or _PRIOR_RESOURCES.fullmatch(path) is not None)
