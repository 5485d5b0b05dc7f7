"""The context keys ``cluster_registrars`` and ``cluster_hooks``: what the installation runs in clusters' workflows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.clusters.rules.construct import bound_hooks
from tidegate.clusters.rules.installed import (
    INSTALLATION,
    REGISTRARS,
    USUAL,
    InstalledHook,
    installed_registrars,
    to_text,
)
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.refusals import ClusterRefused
from tidegate.clusters.rules.registrar import Hook
from tidegate.clusters.rules.workflow import WORKFLOWS
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import HookFailure, HookPoint
from tidegate_cdk.runner_settings import Context, InvalidContext

_KEY, _REGISTRARS = "cluster_hooks", "cluster_registrars"
_FUNCTION = re.compile(r"arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]{1,64}")
_KEYS = {"name", "when", "task", "workflow", "command", "function", "on_error", "seconds", "about"}
_LONGEST = 3000
#: Of the 4 KB for all variables of a function, what these hooks and functions may take.
_MOST_BYTES = 1_500


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The hooks of the installation, and the ARNs of all functions that any hook may call.

    ``registrars`` are the names of all registrars, in the order in which their hooks run.
    """

    hooks: tuple[InstalledHook, ...]
    functions: tuple[str, ...]
    registrars: tuple[str, ...] = USUAL


def read_cluster_settings(context: Context) -> ClusterSettings:
    """Return the settings of this context. Raise InvalidContext for the first that cannot be used."""
    given = context.try_get_context(_KEY) or []
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise InvalidContext(_KEY, given, "a list of hooks")
    hooks: list[InstalledHook] = []
    functions: list[str] = []
    for number, entry in enumerate(given):
        where = f"{_KEY}[{number}]"
        function = _function(where, entry)
        functions += [function] if function else []
        hooks += _hooks(where, entry, function)
    listed = tuple(dict.fromkeys(functions))
    if max(len(",".join(listed)), len(to_text(hooks))) > _MOST_BYTES:
        raise InvalidContext(_KEY, f"{len(given)} hooks", f"hooks and functions of {_MOST_BYTES} bytes in all")
    _refuse_unusable(hooks)
    return ClusterSettings(tuple(hooks), listed, _registrars(context))


def _registrars(context: Context) -> tuple[str, ...]:
    """Return the names of the registrars. The installation's own hooks come last, unless they are named."""
    given = context.try_get_context(_REGISTRARS)
    names = list(USUAL) if given is None else given
    if isinstance(names, str):
        names = [each.strip() for each in names.split(",")]
    if not isinstance(names, list):
        raise InvalidContext(_REGISTRARS, given, "a list of names")
    for number, name in enumerate(names):
        left = [each for each in REGISTRARS if each not in names[:number]]
        if name not in left:
            raise InvalidContext(f"{_REGISTRARS}[{number}]", name, f"one of {', '.join(left)}, each once")
    return (*names, *({INSTALLATION} - set(names)))


def _function(where: str, entry: Mapping[str, Any]) -> str:
    if unknown := sorted(set(entry) - _KEYS):
        raise InvalidContext(where, unknown[0], f"only the keys {', '.join(sorted(_KEYS))}")
    function = entry.get("function", "")
    if function and not (isinstance(function, str) and _FUNCTION.fullmatch(function)):
        raise InvalidContext(f"{where}.function", function, "the ARN of a Lambda function, without a version")
    return str(function)


def _hooks(where: str, entry: Mapping[str, Any], function: str) -> Iterator[InstalledHook]:
    """Yield the hook of an entry. One without ``when`` only lists its function."""
    when, task, workflow = entry.get("when"), str(entry.get("task", "")), str(entry.get("workflow", ""))
    if when is None and function and set(entry) <= {"name", "function", "about"}:
        return
    if when not in list(HookPoint):
        raise InvalidContext(f"{where}.when", when, f"one of {', '.join(HookPoint)}")
    if workflow and workflow not in {each.name for each in WORKFLOWS}:
        raise InvalidContext(f"{where}.workflow", workflow, f"one of {', '.join(each.name for each in WORKFLOWS)}")
    known = _with_task(task)
    if not known or (workflow and workflow not in known):
        raise InvalidContext(f"{where}.task", task, "the id of a task of this workflow")
    yield InstalledHook(_hook(where, entry, function), HookPoint(when), task, workflow)


def _with_task(task: str) -> Sequence[str]:
    """Return the names of the workflows that have a task with some provider, of all without a task."""
    return [
        workflow.name
        for workflow in WORKFLOWS
        if not task
        or any(task == each.id for provider in PROVIDERS.values() for each in tasks_of(workflow, provider.capabilities))
    ]


def _hook(where: str, entry: Mapping[str, Any], function: str) -> Hook:
    command, on_error = entry.get("command", []), entry.get("on_error", HookFailure.FAIL)
    if not isinstance(command, list) or not all(isinstance(each, str) for each in command):
        raise InvalidContext(f"{where}.command", command, "a program and its arguments, as a list")
    if on_error not in list(HookFailure):
        raise InvalidContext(f"{where}.on_error", on_error, f"one of {', '.join(HookFailure)}")
    seconds = str(entry.get("seconds", 900))
    if not seconds.isdecimal() or not 0 < int(seconds) <= _LONGEST:
        raise InvalidContext(f"{where}.seconds", seconds, f"a number of seconds, {_LONGEST} at most")
    about = str(entry.get("about", "A hook of the installation."))
    return Hook(
        str(entry.get("name", "")),
        about,
        tuple(command),
        function,
        on_error=HookFailure(on_error),
        seconds=int(seconds),
    )


def _refuse_unusable(hooks: Sequence[InstalledHook]) -> None:
    """Refuse what no workflow can be made with, such as two hooks of one name."""
    for workflow in WORKFLOWS:
        for provider in PROVIDERS.values():
            try:
                bound_hooks(workflow, tasks_of(workflow, provider.capabilities), installed_registrars(hooks))
            except ClusterRefused as error:
                raise InvalidContext(_KEY, "not usable", f"hooks that can be bound. {error}") from None
