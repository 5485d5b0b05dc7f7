"""What is changed in definitions of state machines, one thing at a time, and how a fork comes to have the change."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any, Self

import pytest

from tests.mutants.changes import Mutant
from tests.stepfunctions import machines, test_ways
from tests.stepfunctions.machines import MACHINES, Machine

Step = str | int
#: What a value becomes that is left out.
_GONE = object()
_SHARED = "stepfunctions/shared.yaml"
#: These compare a definition with its file: they would find every change, whatever it means.
_NOT_TOLD = ("test_files.py", "test_page.py")
_OPPOSITE = {" = ": " != ", " != ": " = ", " and ": " or ", " or ": " and ", " > ": " <= ", " < ": " >= "}
_OPERATOR = re.compile("|".join(map(re.escape, _OPPOSITE)))


def machine_mutants() -> list[Mutant]:
    return [mutant for mutant, _ in _all()]


def machine_items(mutant: Mutant, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that read the mutant's machine (all, of what they share), those that execute it last."""
    names = {None, *(machine.name for machine in MACHINES if mutant.path in {_file(machine), _SHARED})}
    found = [item for item in items if _may_tell(item) and _machine_of(item) in names]
    return sorted(found, key=lambda item: "test_ways.py" in item.nodeid)


def change_machine(mutant: Mutant) -> None:
    """Give this process the changed machine. Executions run here: another process would read the file."""
    for put in [put for found, put in _all() if found == mutant]:
        put()
    for machine in MACHINES:
        object.__setattr__(machine, "text", json.dumps(machine.definition))
    by_name = {machine.name: machine for machine in MACHINES}

    def read(name: str) -> Machine:
        return copy.deepcopy(by_name[name])

    original = machines.read
    for module in list(sys.modules.values()):
        if module.__name__.startswith("tests.stepfunctions") and getattr(module, "read", None) is original:
            module.read = read
    test_ways.ProcessPoolExecutor = _Here


class _Here:
    """An executor of this process and thread."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work, *given) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(work(*given))
        return done


def _may_tell(item: pytest.Item) -> bool:
    in_folder = item.nodeid.startswith("tests/stepfunctions/") and item.path.name not in _NOT_TOLD
    return in_folder and not any(map(item.get_closest_marker, ("nightly", "cloud")))


def _machine_of(item: pytest.Item) -> str | None:
    params = item.callspec.params if hasattr(item, "callspec") else {}
    if "way" in params:
        return str(params["way"].machine)
    machine = params.get("machine")
    return machine.name if isinstance(machine, Machine) else None


def _file(machine: Machine) -> str:
    return f"stepfunctions/{machine.name}.asl.yaml"


def _all() -> Iterator[tuple[Mutant, Callable[[], None]]]:
    """Yield each mutant with what makes the change. States retry by few lists: one changes for all that have it."""
    retrying: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for machine in MACHINES:
        for states in _groups(machine):
            for name, state in states.items():
                retrying[json.dumps(state.get("Retry", []))].append(state)
                yield from _of(_file(machine), name, state, list(states), [state])
    for alike in retrying.values():
        retries = {"Retry": alike[0].get("Retry", [])}
        first = retries["Retry"][0]["ErrorEquals"][0] if retries["Retry"] else ""
        yield from _of(_SHARED, f"{len(alike)} that retry {first}", retries, [], alike)


def _of(file: str, name: str, value: dict[str, Any], names: list[str], alike: list[dict[str, Any]]):
    seen: Counter[str] = Counter()
    for change, path, new in _changes(value, names):
        if ("Retry" in path) == (file == _SHARED):
            seen[change] += 1
            before, after = f"{'.'.join(map(str, path))}: {_at(value, path)}", "" if new is _GONE else str(new)
            mutant = Mutant(file, name, change, seen[change], range(0), before, after)
            yield mutant, partial(_put, alike, path, new)


def _groups(machine: Machine) -> Iterator[dict[str, Any]]:
    """Yield the states of the machine, then those for each item of a Map."""
    states = machine.definition["States"]
    yield states
    yield from (state["ItemProcessor"]["States"] for state in states.values() if "ItemProcessor" in state)


def _changes(state: dict[str, Any], names: list[str]) -> Iterator[tuple[str, tuple[Step, ...], Any]]:
    for path, value in _values(state):
        match path[-1]:
            case "Next" | "Default":
                yield "lead elsewhere", path, names[(names.index(value) + 1) % len(names)]
            case "TimeoutSeconds" | "HeartbeatSeconds" if isinstance(value, int):
                yield "wait longer", path, value * 1000
                yield "leave out", path, _GONE
            case "MaxAttempts":
                yield "try once", path, 0
            case int() if path[-2] in {"Choices", "Catch", "Retry", "ErrorEquals"}:
                if path[-2] != "ErrorEquals" or len(_at(state, path[:-1])) > 1:
                    yield "leave out", path, _GONE
            case str() if path[-2:-1] in {("Assign",), ("Payload",)}:
                yield "leave out", path, _GONE
        if isinstance(value, str) and value.startswith("{%") and (found := _OPERATOR.search(value)):
            yield "opposite", path, value[: found.start()] + _OPPOSITE[found.group()] + value[found.end() :]


def _values(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield all that is in a state; what is in the states of a Map belongs to those."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        if key not in {"ItemProcessor", "Comment"}:
            yield (*path, key), item
            yield from _values(item, (*path, key))


def _at(value: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _put(states: list[dict[str, Any]], path: tuple[Step, ...], new: Any) -> None:
    for state in states:
        holder = _at(state, path[:-1])
        if new is _GONE:
            del holder[path[-1]]
        else:
            holder[path[-1]] = new
