"""Plans of clusters in moto's interpreter: each machine does what its plan says, in the plan's order.

What its tasks do is told by their own tests; here each of them answers at once.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.stepfunctions import interpreter
from tests.stepfunctions.contracts import CONTRACTS
from tests.stepfunctions.histories import all_edges
from tests.stepfunctions.installed_hooks import INSTALLED
from tests.stepfunctions.interpreter import Answer, Fails
from tests.stepfunctions.machines import CLUSTER_MACHINES, RENDERED, Machine
from tests.stepfunctions.way import REFUSED, TWICE
from tests.unit.clusters.clusters import a_declared_hook, a_plan, any_cluster, any_current, any_spec
from tidegate.clusters.rules.plan import ClusterPlan, PlannedHook
from tidegate.clusters.rules.spec import BootstrapPlace, GitOpsAgent
from tidegate.clusters.rules.workflow import Operation
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import HookPoint

TASK = Fails("TaskFailed")
THROTTLED = Fails("StepFunctions.ThrottlingException")
BUSY = Fails("ClusterBusy")
FAILED = {"state": "failed", "error": "TaskFailed", "cause": "told to fail", "last_lines": ""}
PLAIN: dict[str, Answer] = {
    "Lock the cluster": {"fence": 1},
    "Record what the cluster is now": {},
    "Handle the error": FAILED,
}
_BY_NAME = {machine.name: machine for machine in CLUSTER_MACHINES}


def _hooks(tasks: tuple[str, ...]) -> Iterator[Any]:
    """Yield one hook of the repository for each place."""
    yield a_declared_hook(HookPoint.BEFORE, name="start")
    yield a_declared_hook(HookPoint.AFTER, name="end")
    yield a_declared_hook(HookPoint.ALWAYS, name="always")
    for number, task in enumerate(tasks):
        yield a_declared_hook(HookPoint.BEFORE, task, name=f"before-{number}")
        yield a_declared_hook(HookPoint.AFTER, task, name=f"after-{number}")


def _plan(name: str, *, least: bool = False) -> ClusterPlan:
    """Return a plan in which all tasks are due, and every place has hooks; or one with as little as may be."""
    workflow, provider = RENDERED[name]
    if least:
        spec = any_spec(bootstrap=BootstrapPlace.NONE, gitops=GitOpsAgent.NONE)
        cluster = any_cluster(workflow.kind, components=())
        same = any_current(cluster_hash="new", kubernetes="1.33")
        current = None if workflow.operation is Operation.CREATE else same
        return a_plan(workflow, *INSTALLED, provider=provider, declared=cluster, spec=spec, current=current)
    tasks = tuple(task.id for task in tasks_of(workflow, provider.capabilities))
    cluster = any_cluster(workflow.kind, hooks=tuple(_hooks(tasks)))
    return a_plan(workflow, *INSTALLED, provider=provider, declared=cluster)


@dataclass(frozen=True)
class Journey:
    """One execution: its machine, its plan, and what its states answer where that is not the plain answer."""

    machine: str
    name: str
    least: bool = False
    answers: dict[str, list[Answer]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.machine}: {self.name}"

    @property
    def plan(self) -> ClusterPlan:
        return _plan(self.machine, least=self.least)

    def script(self) -> dict[str, list[Answer]]:
        tasks = {state: [PLAIN.get(state, {})] for state, _ in _BY_NAME[self.machine].tasks()}
        return {**tasks, **self.answers}


def _stumbling(machine: Machine) -> dict[str, list[Answer]]:
    """Every call fails at first, and the cluster is still being worked on when it is to be locked."""
    return {
        name: [*TWICE, PLAIN[name]] if "lambda" in task["Resource"] else [THROTTLED, PLAIN.get(name, {})]
        for name, task in machine.tasks()
    } | {"Lock the cluster": [*TWICE, BUSY, PLAIN["Lock the cluster"]]}


def _stumbling_at_the_end(machine: Machine) -> dict[str, list[Answer]]:
    return {**_stumbling(machine), "Validate the cluster": [TASK]}


def _failing(machine: Machine) -> Iterator[Journey]:
    """Yield a journey for each state that may fail, and one that waits for its lock until that is too long."""
    yield Journey(machine.name, "its cluster stays busy", answers={"Lock the cluster": [BUSY]})
    for name, task in machine.tasks():
        if name != "Handle the error":
            error = REFUSED if "lambda" in task["Resource"] else TASK
            yield Journey(machine.name, f"{name} fails", answers={name: [error]})


def _journeys(machine: Machine) -> Iterator[Journey]:
    yield Journey(machine.name, "all is due")
    yield Journey(machine.name, "as little as may be is due", least=True)
    yield Journey(machine.name, "everything stumbles", answers=_stumbling(machine))
    yield Journey(machine.name, "fails, and everything stumbles", answers=_stumbling_at_the_end(machine))
    unhandled: dict[str, list[Answer]] = {"Validate the cluster": [TASK], "Handle the error": [TASK]}
    yield Journey(machine.name, "fails, and that cannot be handled", answers=unhandled)


_OFTEN = [journey for machine in CLUSTER_MACHINES for journey in _journeys(machine)]
#: Each failure of each machine is for the night; of one of them, always.
_FAILING = {machine.name: [*_failing(machine)] for machine in CLUSTER_MACHINES}
_SHORTEST = "cluster-workload-delete-terraform"
_JOURNEYS = [
    *_OFTEN,
    *_FAILING[_SHORTEST],
    *(
        pytest.param(journey, marks=pytest.mark.nightly)
        for name, journeys in _FAILING.items()
        if name != _SHORTEST
        for journey in journeys
    ),
]


@pytest.fixture(scope="module")
def walked():
    """Return a function that does a journey, once, in a process that may change moto."""
    done: dict[str, interpreter.Walked] = {}
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other:

        def walk(journey: Journey) -> interpreter.Walked:
            if str(journey) not in done:
                given = {"deployment": "deployment-1", "plan": journey.plan.execution_input}
                work = other.submit(interpreter.walk, journey.machine, given, journey.script())
                done[str(journey)] = work.result()
            return done[str(journey)]

        yield walk


def _places(plan: ClusterPlan) -> Iterator[tuple[str, str, str]]:
    """Yield what a plan runs, in its order: task, hook and registrar."""
    yield from _named(plan.before)
    for step in plan.steps:
        if step.due:
            yield from _named(step.before)
            yield step.task, "", ""
            yield from _named(step.after)
    yield from _named((*plan.after, *plan.always))


def _named(hooks: tuple[PlannedHook, ...]) -> Iterator[tuple[str, str, str]]:
    return ((hook.task, hook.name, hook.registrar) for hook in hooks)


def _asked(went: interpreter.Walked) -> list[tuple[str, str, str]]:
    """Return the places that were asked to do something, each once."""
    found = [tuple(given[key] for key in ("task", "hook", "registrar")) for _, given in went.asked if "task" in given]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("journey", _JOURNEYS, ids=str)
def test_a_machine_does_what_its_plan_says_until_something_fails(walked, journey):
    went = walked(journey)
    planned = [*_places(journey.plan)]
    asked = _asked(went)
    assert asked == planned[: len(asked)]
    failing = any(isinstance(answers[-1], Fails) for answers in journey.answers.values())
    if failing:
        assert went.states[-2:] == ("Handle the error", went.states[-1])
        assert went.states[-1] == ("Internal error" if "cannot be handled" in journey.name else "Failed")
    else:
        assert asked == planned
        assert went.states[-1] == "Applied"
    assert went.end == ("ExecutionFailed" if went.states[-1] == "Internal error" else "ExecutionSucceeded")
    for _, payload in went.asked:
        if kind := payload.get("kind"):
            CONTRACTS[kind][0].model_validate({key: value for key, value in payload.items() if key != "kind"})


def test_a_machine_locks_with_the_hash_that_its_plans_have(walked):
    for machine in CLUSTER_MACHINES:
        [lock] = [payload for state, payload in walked(_OFTEN[0]).asked if state == "Lock the cluster"]
        assert lock["machine"] == _OFTEN[0].plan.machine
        assert machine.states["Lock the cluster"]["Arguments"]["Payload"]["machine"] == _plan(machine.name).machine


@pytest.mark.parametrize("machine", CLUSTER_MACHINES, ids=lambda machine: machine.name)
def test_every_state_and_every_way_out_of_it_but_its_failure_is_taken(walked, machine):
    went = [walked(journey) for journey in _OFTEN if journey.machine == machine.name]
    assert set(machine.states) - {state for each in went for state in each.states} == set()
    left = all_edges(machine.name) - {edge for each in went for edge in each.edges}
    assert {edge.kind for edge in left} <= {"catch"}


def test_every_failure_has_the_same_way():
    for machine in CLUSTER_MACHINES:
        states = machine.definition["States"].items()
        catches = [state["Catch"] for name, state in states if "Catch" in state and name != "Handle the error"]
        assert all(each == catches[0] for each in catches)


@pytest.mark.nightly
@pytest.mark.parametrize("machine", CLUSTER_MACHINES, ids=lambda machine: machine.name)
def test_every_failure_is_taken(walked, machine):
    went = [walked(each) for each in (*_FAILING[machine.name], *_OFTEN) if each.machine == machine.name]
    assert all_edges(machine.name) - {edge for each in went for edge in each.edges} == set()
