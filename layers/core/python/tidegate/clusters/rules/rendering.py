"""The state machine of a workflow for a provider, put together from the parts in stepfunctions/cluster_parts.yaml.

What the provider's capabilities leave out has no state. Each hook of the installation is a state of its own, so that it
stands in the console before anything happens; those of the repository, which only the plan knows, go through one Map
before and one after each task.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidegate.clusters.rules.construct import MOST_COMPONENT_SECONDS, bound_hooks, check, machine_hash
from tidegate.clusters.rules.plan import Step
from tidegate.clusters.rules.provider import ProviderFacts
from tidegate.clusters.rules.registrar import Bound, Registrar
from tidegate.clusters.rules.spec import BootstrapPlace
from tidegate.clusters.rules.task import Fact, Task
from tidegate.clusters.rules.workflow import Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import HookPoint

#: Seconds that a task may take besides its own: its runner is started up to three times, five minutes each, and it
#: waits some forty minutes for a cluster that does not answer.
STARTING_AND_WAITING = 3600
#: Seconds after which an execution ends: longer than the wait for the lock and all tasks together, so that only hooks
#: can come to it. The machines around it wait longer: *Run the cluster workflow*, and *Plan, review and apply*.
MOST_SECONDS = 3 * 86_400

Parts = Mapping[str, Any]
States = dict[str, dict[str, Any]]


def render(
    workflow: Workflow, provider: ProviderFacts, registrars: Sequence[Registrar], parts: Parts
) -> dict[str, Any]:
    """Return the definition of a workflow's state machine. Raise ClusterRefused for hooks that cannot work.

    ``registrars`` are the installation's, ``parts`` the document of cluster_parts.yaml.
    """
    tasks = tasks_of(workflow, provider.capabilities)
    hooks = bound_hooks(workflow, tasks, registrars)
    check(tasks, [Step(task.id, task.title, task.needs, task.produces, task.seconds) for task in tasks], hooks)
    pieces = [*_pieces(tasks, hooks, provider)]
    states: States = {}
    lock = _filled(parts, "lock", {}) | {"Next": pieces[0].name}
    lock["Arguments"]["Payload"]["machine"] = machine_hash(workflow, provider, registrars)
    states["Begin the workflow"] = _filled(parts, "begin", {}) | {"Next": "Lock the cluster"}
    states["Lock the cluster"] = lock
    for number, (piece, following) in enumerate(zip(pieces, [*pieces[1:], None], strict=True), 1):
        follows = following.name if following else "Record what the cluster is now"
        states[piece.name] = piece.state(parts, number, follows)
    states |= copy.deepcopy(parts["ends"])
    return {
        "Comment": _comment(workflow, provider),
        "QueryLanguage": "JSONata",
        "TimeoutSeconds": MOST_SECONDS,
        "StartAt": "Begin the workflow",
        "States": states,
    }


def _comment(workflow: Workflow, provider: ProviderFacts) -> str:
    what = str(workflow.operation).replace("-", " the ")
    return (
        f"{what.capitalize()} a {workflow.kind} cluster with the provider {provider.name}. A failed task or hook is an "
        "expected end, and what is held is given back; only an internal error makes the execution fail. Input: "
        "deployment (its id), plan (what of it decides here)."
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """A task's own state."""

    task: Task

    @property
    def name(self) -> str:
        return self.task.title

    def state(self, parts: Parts, number: int, follows: str) -> dict[str, Any]:
        components = MOST_COMPONENT_SECONDS if self.task.role else 0
        state = {"Comment": self.task.contract, **_filled(parts, "task", {"task": self.task.id})}
        state["TimeoutSeconds"] = self.task.seconds + components + STARTING_AND_WAITING
        return _named(state, number) | {"Next": follows}


@dataclass(frozen=True, slots=True)
class _Choice:
    """Whether a task is needed. ``skips_to`` is the state after the task and all of its hooks."""

    task: Task
    skips_to: str
    goes_to: str

    @property
    def name(self) -> str:
        return f"Is it needed to {_phrase(self.task.title)}?"

    def state(self, parts: Parts, _number: int, _follows: str) -> dict[str, Any]:
        condition = f"{{% $plan.due.`{self.task.id}` %}}"
        chosen = {"Choices": [{"Condition": condition, "Next": self.goes_to}], "Default": self.skips_to}
        return _filled(parts, "choice", {}) | chosen


@dataclass(frozen=True, slots=True)
class _Hook:
    """A hook of the installation."""

    bound: Bound

    @property
    def name(self) -> str:
        return f"Run the hook {self.bound.hook.name} of {self.bound.registrar}"

    def state(self, parts: Parts, number: int, follows: str) -> dict[str, Any]:
        bound = self.bound
        place = {"task": bound.task, "hook": bound.hook.name, "registrar": bound.registrar}
        state = {"Comment": f"{bound.hook.about} {_where(bound)}", **_filled(parts, "task", place)}
        state["TimeoutSeconds"] = bound.hook.seconds + STARTING_AND_WAITING
        return _named(state, number) | {"Next": follows}


@dataclass(frozen=True, slots=True)
class _Declared:
    """The hooks of the repository at a place: ``items`` selects them from the plan."""

    place: str
    items: str
    task: str = ""

    @property
    def name(self) -> str:
        return f"Run hooks of the repository {self.place}"

    def state(self, parts: Parts, number: int, follows: str) -> dict[str, Any]:
        inner = f"Run the hook {self.place}"
        hook = copy.deepcopy(parts["hook"])
        hook["Arguments"]["Input"]["task"] = self.task
        hook["Arguments"]["Name"] = f"{{% $deployment & '-{number:02}-' & $states.context.Map.Item.Index %}}"
        state = {"Comment": "Those that tidegate.yaml declares here, in its order.", **_filled(parts, "hooks", {})}
        state["ItemProcessor"] |= {"StartAt": inner, "States": {inner: hook}}
        return state | {"Items": f"{{% $plan.{self.items} %}}", "Next": follows}


_Piece = _Task | _Choice | _Hook | _Declared


def _pieces(tasks: Sequence[Task], hooks: Sequence[Bound], provider: ProviderFacts) -> Iterator[_Piece]:
    """Yield the states between the first and the last ones, in their order."""
    yield _Declared("at the start", "start")
    yield from _hooks(hooks, HookPoint.BEFORE)
    ends: list[_Piece] = [*_hooks(hooks, HookPoint.AFTER), _Declared("at the end", "end")]
    groups = [_of_task(task, hooks) for task in tasks]
    after = [*(_first(task, group, provider) for task, group in zip(tasks, groups, strict=True)), ends[0].name]
    for number, (task, group) in enumerate(zip(tasks, groups, strict=True), 1):
        if _is_chosen(task, provider):
            yield _Choice(task, after[number], group[0].name)
        yield from group
    yield from ends
    yield from _hooks(hooks, HookPoint.ALWAYS)
    yield _Declared("at the end in any case", "always")


def _of_task(task: Task, hooks: Sequence[Bound]) -> list[_Piece]:
    phrase = _phrase(task.title)
    return [
        _Declared(f"before: {phrase}", f"before.`{task.id}`", task.id),
        *_hooks(hooks, HookPoint.BEFORE, task.id),
        _Task(task),
        *_hooks(hooks, HookPoint.AFTER, task.id),
        _Declared(f"after: {phrase}", f"after.`{task.id}`", task.id),
    ]


def _first(task: Task, group: Sequence[_Piece], provider: ProviderFacts) -> str:
    return _Choice(task, "", "").name if _is_chosen(task, provider) else group[0].name


def _is_chosen(task: Task, provider: ProviderFacts) -> bool:
    """Tell whether only the specification or the current cluster decide that a task is needed."""
    return task.fact is not Fact.ALWAYS or bool(task.capability and BootstrapPlace.NONE in provider.places)


def _hooks(hooks: Iterable[Bound], point: HookPoint, task: str = "") -> Iterator[_Hook]:
    return (_Hook(each) for each in hooks if (each.point, each.task) == (point, task))


def _where(bound: Bound) -> str:
    if bound.point is HookPoint.ALWAYS:
        return "It runs at the end, and after a failure as well."
    return f"It runs {bound.point} {bound.task or 'all tasks'}."


def _phrase(title: str) -> str:
    return title[0].lower() + title[1:]


def _filled(parts: Parts, part: str, place: Mapping[str, str]) -> dict[str, Any]:
    """Return a copy of a part, with the place in the workflow that its task's execution is given."""
    state: dict[str, Any] = copy.deepcopy(parts[part])
    if place:
        state["Arguments"]["Input"] |= place
    return state


def _named(state: dict[str, Any], number: int) -> dict[str, Any]:
    """Give the execution that a state starts a name that none else has: a deployment's id and the state's number."""
    state["Arguments"]["Name"] = f"{{% $deployment & '-{number:02}' %}}"
    return state
