"""Values of every stored record and every message, with each of their fields filled."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from tidegate.aws.records import pack

#: What is stored in the table, by module.
_STORED = {
    "tidegate.changes.rules.wave": ("Wave",),
    "tidegate.config.rules.drift": ("DriftRecord",),
    "tidegate.deploys.rules.deployment": ("Deployment",),
    "tidegate.deploys.rules.job": ("Job",),
    "tidegate.deploys.rules.queue": ("QueueHead", "Waiting"),
    "tidegate.deploys.rules.speculative_plan": ("SpeculativePlan",),
    "tidegate.deploys.rules.freeze": ("FreezeWindows",),
    "tidegate.deploys.rules.queue_snapshot": ("Shown",),
    "tidegate.deploys.rules.repository_locks": ("RepositoryLocks",),
    "tidegate.ports.change_sets": ("Enrolled",),
    "tidegate.ports.check_runs": ("PublishedCheckRun",),
    "tidegate.ports.deliveries": ("Asked",),
    "tidegate.ports.repository_index": ("KnownRepository",),
    "tidegate.pull_requests.rules.record": ("PullRequestRecord",),
}
_MESSAGES = ("tidegate.messages", "tidegate.messages.queues")
#: Fields that a message has only without others of its own.
_LEFT_OUT = {"CheckPolicies": {"deployment"}, "RecordSpeculativePlan": {"error", "cause"}}
_PLAIN: Mapping[Any, Any] = {
    str: "text",
    bool: True,
    int: 60,
    float: 1.5,
    datetime: datetime(2026, 3, 2, 8, 0, 0, 1, tzinfo=UTC),
    timedelta: timedelta(hours=1),
    Any: "text",
}


def stored_records() -> Mapping[str, type[Any]]:
    """Return the dataclasses that are stored, by name."""
    return {name: getattr(import_module(module), name) for module, names in _STORED.items() for name in names}


def messages() -> Mapping[str, type[BaseModel]]:
    """Return the messages of queues and of state machines' tasks, by module and name."""
    return {
        f"{module.removeprefix('tidegate.')}.{name}": kind
        for module in _MESSAGES
        for name, kind in inspect.getmembers(import_module(module), inspect.isclass)
        if issubclass(kind, BaseModel) and kind.__module__ == module and kind.model_fields
    }


def words() -> Mapping[str, list[str]]:
    """Return what each enumeration may say that is stored or sent, by its name."""
    found: dict[str, list[str]] = {}
    for kind in (*stored_records().values(), *messages().values()):
        _collect(kind, found, set())
    return found


def _collect(hint: Any, found: dict[str, list[str]], seen: set[Any]) -> None:
    if get_origin(hint) is not None:
        for argument in get_args(hint):
            _collect(argument, found, seen)
    elif isinstance(hint, type) and hint not in seen:
        seen.add(hint)
        if issubclass(hint, Enum):
            found[hint.__name__] = sorted(str(each.value) for each in hint)
        elif is_dataclass(hint) or issubclass(hint, BaseModel):
            for inner in _hints(hint).values():
                _collect(inner, found, seen)


def filled_record(kind: type[Any]) -> Any:
    """Return a record as plain data, with each field filled."""
    return pack(_filled(kind))


def filled_message(kind: type[BaseModel]) -> Any:
    """Return a message as plain data, with each field filled. Nothing is validated."""
    names = kind.model_fields.keys() - _LEFT_OUT.get(kind.__name__, set())
    return _plain({name: _filled(hint) for name, hint in _hints(kind).items() if name in names})


def _hints(kind: type[Any]) -> Mapping[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _filled(hint: Any) -> Any:
    origin = get_origin(hint)
    if origin is not None:
        return _filled_of(origin, get_args(hint))
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        within = [each.name for each in fields(hint) if hint in get_args(hints[each.name])]  # A lock before this one.
        return hint(**{each.name: None if each.name in within else _filled(hints[each.name]) for each in fields(hint)})
    if hint in _PLAIN:
        return _PLAIN[hint]
    return filled_message(hint) if issubclass(hint, BaseModel) else next(iter(hint))  # An enumeration's first value.


def _filled_of(origin: Any, arguments: tuple[Any, ...]) -> Any:
    if origin is Literal:
        return arguments[0]
    if origin in {Union, UnionType}:
        return _filled(next(each for each in arguments if each is not NoneType))
    if origin is Annotated:
        return _filled(arguments[0])
    if origin is tuple:
        return (_filled(arguments[0]),)
    return {"name": _filled(arguments[1])} if issubclass(origin, Mapping) else [_filled(arguments[0])]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat(timespec="microseconds") if isinstance(value, datetime) else pack(value)
