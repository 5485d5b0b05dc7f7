"""The machines of cluster workflows as they were reviewed: tests/data/clusters has a file for each.

``python -m tests.stepfunctions.golden`` writes them anew. Each state is a line, so that a difference shows which one.
What states have in common, such as retries, stands above them once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.stepfunctions.machines import CLUSTER_MACHINES, ROOT, Machine

FOLDER = ROOT / "tests/data/clusters"


def file_of(machine: Machine) -> Path:
    return FOLDER / f"{machine.name}.txt"


def text_of(machine: Machine) -> str:
    """Return what is in the file of a machine."""
    rest = {key: value for key, value in machine.definition.items() if key != "States"}
    common: dict[str, str] = {}
    lines = [f"{name}: {_compact(_shortened(state, common))}" for name, state in _states(machine.definition["States"])]
    return "\n".join([_compact(rest), *(f"{name}: {text}" for text, name in common.items()), *lines, ""])


def _shortened(state: Mapping[str, Any], common: dict[str, str]) -> dict[str, Any]:
    shown = dict(state)
    for key in (each for each in ("Retry", "Catch") if each in state):
        text = _compact(state[key])
        shown[key] = common.setdefault(text, f"{key} {len(common) + 1}")
    return shown


def _states(states: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, state in states.items():
        inner = state.get("ItemProcessor", {}).get("States", {})
        yield name, {**state, "ItemProcessor": {**state["ItemProcessor"], "States": [*inner]}} if inner else state
        yield from _states(inner)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for each in CLUSTER_MACHINES:
        file_of(each).write_text(text_of(each), encoding="utf-8")
