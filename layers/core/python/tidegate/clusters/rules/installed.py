"""The registrars of an installation, alike where its state machines are made and where clusters are planned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tidegate.clusters.rules.builtin_registrars import BUILTIN, DEFAULT
from tidegate.clusters.rules.registrar import Binder, Hook, Registrar
from tidegate.deploys.rules.cluster import HookFailure, HookPoint

#: The registrar of hooks that the installation configures.
INSTALLATION = "installation"
#: The names of the registrars of an installation that says nothing else, in the order in which their hooks run.
USUAL = (*(each.name for each in DEFAULT), INSTALLATION)
#: All names that there are.
REGISTRARS = (*BUILTIN, INSTALLATION)


@dataclass(frozen=True, slots=True)
class InstalledHook:
    """A hook of the installation at a task, or of the whole workflow; in one ``workflow`` by its name, or in all."""

    hook: Hook
    point: HookPoint
    task: str = ""
    workflow: str = ""


class Installed(Registrar):
    """Binds the hooks of the installation. Those at tasks that a workflow does not have are left out."""

    name = INSTALLATION

    def __init__(self, hooks: Sequence[InstalledHook]) -> None:
        self._hooks = hooks

    def bind(self, binder: Binder) -> None:
        for each in self._hooks:
            if each.workflow in {"", binder.workflow.name} and each.task in {"", *binder.tasks}:
                binder.bind(each.hook, each.point, each.task)


def installed_registrars(hooks: Sequence[InstalledHook], names: Sequence[str] = USUAL) -> tuple[Registrar, ...]:
    """Return the registrars of these names, of ``REGISTRARS``, in the order in which their hooks run."""
    known: Mapping[str, Registrar] = {**BUILTIN, INSTALLATION: Installed(hooks)}
    return tuple(known[each] for each in names)


def to_text(hooks: Sequence[InstalledHook]) -> str:
    """Return hooks as a runner's environment has them."""
    return json.dumps([_shortened(asdict(each)) for each in hooks], separators=(",", ":"))


def _shortened(fields: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: _shortened(value) if isinstance(value, dict) else value for name, value in fields.items()}
    return {name: value for name, value in shown.items() if value}


def from_text(text: str) -> tuple[InstalledHook, ...]:
    """Return the hooks that ``to_text`` wrote."""
    return tuple(_hook(each) for each in json.loads(text or "[]"))


def _hook(fields: Mapping[str, Any]) -> InstalledHook:
    given = dict(fields["hook"])
    lists = {name: tuple(given.pop(name, ())) for name in ("command", "needs", "produces")}
    hook = Hook(**{**given, **lists, "on_error": HookFailure(given["on_error"])})
    return InstalledHook(hook, HookPoint(fields["point"]), fields.get("task", ""), fields.get("workflow", ""))
