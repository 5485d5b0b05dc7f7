"""Hooks and who registers them.

A registrar is handed a binder for each workflow that is constructed, and binds its hooks there: at tasks, at the
workflow itself, on errors, or always. Hooks run in the order of the registrars, then in the order in which each has
bound them. A hook is data: what it does runs later, in a runner or a function, with the context at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tidegate.clusters.rules.plan import REPOSITORY, PlannedHook
from tidegate.clusters.rules.refusals import DuplicateId, InvalidHook, UnknownAnchor
from tidegate.clusters.rules.workflow import Operation, Workflow
from tidegate.deploys.rules.cluster import DeclaredHook, HookFailure, HookPoint

#: Names of hooks and registrars: both together are part of a state's name, which has 80 characters.
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,29}")


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook: a ``command`` in the runner's image, a ``function`` of the installation, or a built-in ``action``.

    ``about`` is a sentence on what it is for. ``needs`` are keys of the context that must be there, ``produces`` keys
    of its own that it adds. What it ``acquires`` another hook ``releases``.
    """

    name: str
    about: str
    command: tuple[str, ...] = ()
    function: str = ""
    action: str = ""
    needs: tuple[str, ...] = ()
    produces: tuple[str, ...] = ()
    acquires: str = ""
    releases: str = ""
    on_error: HookFailure = HookFailure.FAIL
    seconds: int = 900


@dataclass(frozen=True, slots=True)
class Bound:
    """A hook at its place, by its registrar. ``task`` is empty for the workflow itself."""

    registrar: str
    hook: Hook
    point: HookPoint
    task: str = ""

    @property
    def id(self) -> str:
        """What it is told apart by, in messages and in checkpoints."""
        return f"{self.registrar}/{self.hook.name}"

    @property
    def planned(self) -> PlannedHook:
        hook = self.hook
        return PlannedHook(
            hook.name,
            self.registrar,
            self.point,
            self.task,
            hook.on_error,
            hook.needs,
            hook.produces,
            hook.command,
            hook.function,
            hook.action,
            hook.seconds,
        )


class Binder:
    """Takes the hooks of one registrar for one workflow. ``tasks`` are the ids of the workflow's tasks."""

    def __init__(self, workflow: Workflow, tasks: tuple[str, ...], registrar: str) -> None:
        self.workflow, self.tasks, self._registrar = workflow, tasks, registrar
        self.bound: list[Bound] = []

    def before(self, task: str, hook: Hook) -> None:
        """Run a hook before a task. Raise UnknownAnchor if the workflow has no such task."""
        self.bind(hook, HookPoint.BEFORE, task)

    def after(self, task: str, hook: Hook) -> None:
        """Run a hook after a task that has succeeded. Raise UnknownAnchor if the workflow has no such task."""
        self.bind(hook, HookPoint.AFTER, task)

    def before_workflow(self, hook: Hook) -> None:
        """Run a hook before the first task."""
        self.bind(hook, HookPoint.BEFORE)

    def after_workflow(self, hook: Hook) -> None:
        """Run a hook after the last task."""
        self.bind(hook, HookPoint.AFTER)

    def on_error(self, hook: Hook) -> None:
        """Run a hook once the workflow has failed. What it needs of the context may be missing: it must ask."""
        self.bind(hook, HookPoint.ON_ERROR)

    def always(self, hook: Hook) -> None:
        """Run a hook at the end, whether the workflow succeeded or failed. It must ask for what it needs as well."""
        self.bind(hook, HookPoint.ALWAYS)

    def bind(self, hook: Hook, point: HookPoint, task: str = "") -> None:
        """Run a hook at a place that is given as data: ``task`` is empty for the workflow itself."""
        bound = Bound(self._registrar, hook, point, task)
        _refuse_invalid(bound)
        if task and point in {HookPoint.ON_ERROR, HookPoint.ALWAYS}:
            raise InvalidHook(bound.id, f"is bound to the task {task[:60]}, but {point} is of the whole workflow")
        if task and task not in self.tasks:
            raise UnknownAnchor(bound.id, task, self.tasks)
        if hook.name in {each.hook.name for each in self.bound}:
            raise DuplicateId("hooks", bound.id)
        self.bound.append(bound)


def _refuse_invalid(bound: Bound) -> None:
    hook = bound.hook
    for name in (hook.name, bound.registrar):
        if not NAME.fullmatch(name):
            raise InvalidHook(bound.id, "has a name that is not of up to 30 small letters, digits and dashes")
    if sum(map(bool, (hook.command, hook.function, hook.action))) != 1:
        raise InvalidHook(bound.id, "has not exactly one of a command, a function and an action")
    if hook.needs and bound.point in {HookPoint.ON_ERROR, HookPoint.ALWAYS}:
        raise InvalidHook(
            bound.id, "needs keys of the context, which may not be there at the end. It must ask for them"
        )


class Registrar:
    """Registers nothing: derive from it, set ``name``, and override the operations that need hooks.

    ``binder.workflow.kind`` tells management from workload clusters, ``binder.tasks`` which tasks there are: those of a
    bootstrap cluster only with providers that need one.
    """

    name = "none"

    def bind(self, binder: Binder) -> None:
        """Bind the hooks of the binder's workflow."""
        operation = {
            Operation.CREATE: self.create,
            Operation.UPGRADE: self.upgrade,
            Operation.UPGRADE_COMPONENTS: self.upgrade_components,
            Operation.DELETE: self.delete,
        }[binder.workflow.operation]
        operation(binder)

    def create(self, binder: Binder) -> None:
        """Bind hooks of the creation of a cluster."""

    def upgrade(self, binder: Binder) -> None:
        """Bind hooks of the upgrade of a cluster."""

    def upgrade_components(self, binder: Binder) -> None:
        """Bind hooks of the upgrade of management components."""

    def delete(self, binder: Binder) -> None:
        """Bind hooks of the deletion of a cluster."""


class Declared(Registrar):
    """The hooks that ``tidegate.yaml`` declares for a cluster.

    They are for all of its workflows: a hook at a task runs in those that have this task. ``elsewhere`` are the ids of
    the tasks of all of them: a hook at any other task is refused.
    """

    name = REPOSITORY

    def __init__(self, hooks: Iterable[DeclaredHook], elsewhere: Iterable[str]) -> None:
        self._hooks, self._elsewhere = tuple(hooks), frozenset(elsewhere)

    def bind(self, binder: Binder) -> None:
        for each in self._hooks:
            if each.task in binder.tasks or each.task not in self._elsewhere:
                binder.bind(_hook_of(each), each.point, each.task)


def _hook_of(declared: DeclaredHook) -> Hook:
    return Hook(
        declared.name,
        "",
        command=declared.command,
        function=declared.function,
        on_error=declared.on_error,
        seconds=declared.seconds,
    )
