"""The provider ``command``: programs of the repository.

Its section of the cluster's file: ``tasks: {TASK: [ARGUMENT, ...]}`` what to run for a task, and ``probes:`` likewise,
which exits with 0 if the task's effect is there, and 1 if it is not. Other exit codes are failures, 75 says that
something does not answer. There is no shell. Programs run in the directory of the cluster's file, with the variables of
runner/clusters/programs.py; those that make a cluster write how to reach it to ``TIDEGATE_VALUES``, as
``management-cluster=eks:ARN`` or ``management-cluster=secret:NAME``. Its bootstrap cluster needs no program if
``bootstrap`` says which it is, or what EKS makes it of (bootstrap.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from runner.clusters.programs import command, run, variables
from runner.clusters.providers.bootstrap import bootstrap_of
from runner.clusters.providers.options import mapping, refuse_unknown, wrong
from runner.clusters.providers.protocol import Plain, Status
from runner.clusters.values import Values, read_values
from runner.clusters.work import Work
from runner.faults import TaskFailed
from tidegate.clusters.rules.context import Access, ClusterReference, Key, reference_from
from tidegate.clusters.rules.plan import VersionChange

_COMMANDS = ("tasks", "probes")
_RESOURCES = "install-resources"
_ABSENT = 1


class Command(Plain):
    """See the module."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._bootstrap = bootstrap_of(work)

    def validate(self) -> None:
        work = self._work
        refuse_unknown(work, work.options, (*_COMMANDS, "bootstrap"))
        for option in _COMMANDS:
            for task in mapping(work, option):
                refuse_unknown(work, {task: None}, _TASKS, f"provider.{option}")
                self._argv(option, task)
        for step in work.plan.steps:
            made = self._bootstrap is not None and step.task in _OF_BOOTSTRAP
            if made and self._argv("tasks", step.task):
                raise wrong(work, f"provider.tasks.{step.task} and provider.bootstrap are both there: say one")
            if step.due and _makes_or_ends(step.task) and not made and not self._argv("tasks", step.task):
                raise wrong(work, f"provider.tasks.{step.task} is missing: say what to run for it")
        if self._bootstrap and any(step.due and step.task in _OF_BOOTSTRAP for step in work.plan.steps):
            self._bootstrap.validate()
        self._run("validate")

    def status(self, key: Key) -> Status:
        """Run the probe of the task, which knows: without one, nothing is known to be there."""
        if key is Key.BOOTSTRAP and self._bootstrap:
            return self._bootstrap.status()
        found = self._probed()
        if self._work.order.task.startswith("delete-"):
            return Status(None, gone=found)
        there = self._work.reference(key) or self._known(key)
        return Status(there if found else None, ready=found, observed=self._work.plan.spec_hash if found else "")

    def create(self, key: Key) -> ClusterReference:
        if key is Key.BOOTSTRAP and self._bootstrap:
            return self._bootstrap.create()
        values = self._run(self._work.order.task)
        return _reference(values, key, self._work)

    def upgrade(self, _key: Key) -> None:
        self._run(self._work.order.task)

    def delete(self, key: Key) -> None:
        if key is Key.BOOTSTRAP and self._bootstrap:
            self._bootstrap.delete()
        else:
            self._run(self._work.order.task)

    def install(self, _key: Key) -> tuple[VersionChange, ...]:
        if not self._probed():
            self._run(self._work.order.task)
        return ()

    def install_resources(self, _key: Key) -> None:
        self._run(_RESOURCES)

    def move(self, _source: Key, _target: Key) -> bool:
        """A tool may move its objects itself: then it has a program for the task."""
        if not self._argv("tasks", self._work.order.task):
            return False
        if not self._probed():
            self._run(self._work.order.task)
        return True

    def _probed(self) -> bool:
        work, task = self._work, self._work.order.task
        argv = self._argv("probes", task)
        if not argv:
            return False
        what = f"The probe of {task}"
        file = work.tools.directory / "probed"
        file.unlink(missing_ok=True)
        code = run(work, argv, what, self._seconds, variables(work, file))
        if code not in {0, _ABSENT}:
            raise TaskFailed(f"{what} failed with exit code {code}: 0 says that its effect is there, 1 that it is not.")
        return code == 0

    def _known(self, key: Key) -> ClusterReference | None:
        """Return what a probe has written, or the last workflow has recorded."""
        values = read_values(self._work.tools.directory / "probed", "The probe")
        if key in values:
            return _reference(values, key, self._work)
        recorded = self._work.order.current.reference if self._work.order.current else ""
        return reference_from(recorded) if recorded and key is self._work.own_key else None

    def _run(self, task: str) -> Values:
        argv = self._argv("tasks", task)
        return command(self._work, argv, f"The command of {task}", self._seconds) if argv else {}

    def _argv(self, option: str, task: str) -> list[str]:
        said = mapping(self._work, option).get(task)
        if said is None:
            return []
        if not isinstance(said, list) or not said or not all(isinstance(word, str) and word for word in said):
            raise wrong(
                self._work, f"provider.{option}.{task} is no list of words: write the program and its arguments"
            )
        return said

    @property
    def _seconds(self) -> float:
        step = self._work.plan.step(self._work.order.task)
        return float(step.seconds) if step else self._work.tools.settings.program_seconds


_OF_BOOTSTRAP = ("create-bootstrap-cluster", "delete-bootstrap-cluster")
#: The tasks that run a command, of all workflows: one file serves all of them.
_TASKS = (
    "validate",
    "create-bootstrap-cluster",
    "install-bootstrap-components",
    "create-management-cluster",
    "create-workload-cluster",
    "install-management-components",
    "upgrade-management-components",
    "pivot-to-management",
    "pivot-to-bootstrap",
    "upgrade-cluster",
    "delete-bootstrap-cluster",
    "delete-management-cluster",
    "delete-workload-cluster",
    _RESOURCES,
)


def _makes_or_ends(task: str) -> bool:
    return task == "upgrade-cluster" or (task.startswith(("create-", "delete-")) and task.endswith("-cluster"))


def _reference(values: Values, key: Key, work: Work) -> ClusterReference:
    """Return the reference that a command has written as ``eks:ARN`` or ``secret:NAME``."""
    access, colon, place = values.get(key, "").partition(":")
    if not colon or access not in _ACCESSES or not place:
        raise TaskFailed(
            f"The command of {work.order.task} did not say how to reach the cluster: write {key}=eks:ARN or "
            f"{key}=secret:NAME to the file that TIDEGATE_VALUES names."
        )
    return ClusterReference(work.name if key is work.own_key else f"{work.name}-{key}", _ACCESSES[access], place)


_ACCESSES: Mapping[str, Access] = {"eks": Access.EKS, "secret": Access.SECRET}
