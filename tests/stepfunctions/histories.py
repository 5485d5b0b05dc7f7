"""What an execution did, read from its history: states in order, how each was left, what was tried again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.stepfunctions.machines import CLUSTER_MACHINES, MACHINES, Machine

_BY_NAME = {machine.name: machine for machine in (*MACHINES, *CLUSTER_MACHINES)}
_LAST = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"})


@dataclass(frozen=True)
class Edge:
    """A way out of a state: its Next, its Default, or a numbered Choice, Catch or Retry (which leads back)."""

    machine: str
    state: str
    kind: str
    number: int
    to: str


@dataclass
class _Visit:
    state: str
    errors: list[str] = field(default_factory=list)
    retried: int = 0
    answered: bool = False


@dataclass(frozen=True)
class History:
    """The states of an execution in order, the ways it took between them, and the type of its last event."""

    machine: str
    states: tuple[str, ...]
    edges: frozenset[Edge]
    end: str | None


def all_edges(*names: str) -> set[Edge]:
    """Return every way out of every state of these machines (all)."""
    return {
        edge
        for machine in (*MACHINES, *CLUSTER_MACHINES)
        if not names or machine.name in names
        for name in machine.states
        for edge in _edges(machine, name)
    }


def _edges(machine: Machine, name: str) -> Iterator[Edge]:
    state = machine.states[name]
    if "ItemProcessor" in state:
        yield Edge(machine.name, name, "each", 0, state["ItemProcessor"]["StartAt"])
    for key in ("Next", "Default"):
        if key in state:
            yield Edge(machine.name, name, key.lower(), 0, state[key])
    for number, choice in enumerate(state.get("Choices", [])):
        yield Edge(machine.name, name, "choice", number, choice["Next"])
    for number, catch in enumerate(state.get("Catch", [])):
        yield Edge(machine.name, name, "catch", number, catch["Next"])
    for number, _ in enumerate(state.get("Retry", [])):
        yield Edge(machine.name, name, "retry", number, name)


def read_history(machine: str, events: Sequence[dict[str, Any]]) -> History:
    """Read the events of an execution of ``machine``, oldest first."""
    visits = _visits(events)
    end = next((event["type"] for event in events if event["type"] in _LAST), None)
    edges = set(_retried(machine, visits))
    edges |= {_left(machine, visit, after.state) for visit, after in pairwise(visits)}
    return History(machine, tuple(visit.state for visit in visits), frozenset(edges), end)


def _visits(events: Iterable[dict[str, Any]]) -> list[_Visit]:
    visits: list[_Visit] = []
    for event in events:
        if event["type"].endswith("StateEntered"):
            visits.append(_Visit(event["stateEnteredEventDetails"]["name"]))
        elif visits:
            _note(visits[-1], event)
    return visits


def _note(visit: _Visit, event: dict[str, Any]) -> None:
    if event["type"] == "TaskScheduled":
        visit.retried = len(visit.errors)
    elif event["type"] == "TaskSucceeded":
        visit.answered = True
    elif event["type"] in {"TaskFailed", "TaskSubmitFailed", "TaskStartFailed", "LambdaFunctionFailed"}:
        visit.errors.append(next(value for key, value in event.items() if key.endswith("EventDetails"))["error"])
    elif event["type"] == "TaskTimedOut":
        visit.errors.append(event["taskTimedOutEventDetails"]["error"])


def _left(machine: str, visit: _Visit, to: str) -> Edge:
    states = _BY_NAME[machine].states
    state = states[visit.state]
    around = _BY_NAME[machine].map_around(visit.state)
    if around and (state["Type"] == "Succeed" or to not in states[around]["ItemProcessor"]["States"]):
        return _out_of(machine, around, states[around], to)
    if "ItemProcessor" in state:
        kind = "each" if to in state["ItemProcessor"]["States"] else "next"
        return Edge(machine, visit.state, kind, 0, to)
    if visit.errors and not visit.answered:
        number = _catching(state["Catch"], visit.errors[-1])
        return Edge(machine, visit.state, "catch", number, state["Catch"][number]["Next"])
    for number, choice in enumerate(state.get("Choices", [])):
        if choice["Next"] == to:
            return Edge(machine, visit.state, "choice", number, to)
    return Edge(machine, visit.state, "default" if "Default" in state else "next", 0, to)


def _out_of(machine: str, name: str, state: dict[str, Any], to: str) -> Edge:
    """Return the way out of a Map, after the last of its items. What is read here works on one at a time."""
    inner = state["ItemProcessor"]["States"]
    if to in inner:
        return Edge(machine, name, "each", 0, to)
    if to == state["Next"]:
        return Edge(machine, name, "next", 0, to)
    return Edge(machine, name, "catch", 0, to)


def _retried(machine: str, visits: Iterable[_Visit]) -> Iterator[Edge]:
    for visit in visits:
        retries = _BY_NAME[machine].states[visit.state].get("Retry", [])
        for error in visit.errors[: visit.retried]:
            yield Edge(machine, visit.state, "retry", _catching(retries, error), visit.state)


def _catching(catchers: Sequence[dict[str, Any]], error: str) -> int:
    """Return the number of the first that names the error, as Step Functions does."""
    for number, catcher in enumerate(catchers):
        if {error, "States.ALL"} & set(catcher["ErrorEquals"]):
            return number
        if error == "States.HeartbeatTimeout" and "States.Timeout" in catcher["ErrorEquals"]:
            return number
    raise AssertionError(f"nothing catches {error}")
