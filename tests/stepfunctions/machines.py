"""The state machines' files, read as they are deployed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stepfunctions.describe import NAMES
from tests.stepfunctions.installed_hooks import INSTALLED
from tidegate.aws.definitions import rendered
from tidegate.clusters.adapters.machines import cluster_machine
from tidegate.clusters.rules.provider import PROVIDERS
from tidegate.clusters.rules.workflow import WORKFLOWS, machine_name
from tidegate.deploys.rules.cluster import ProviderName

ROOT = Path(__file__).resolve().parents[2]
#: The machines of cluster workflows for a provider with a bootstrap cluster, and for one without: others are the same.
RENDERED = {
    machine_name(workflow, provider): (workflow, PROVIDERS[provider])
    for workflow in WORKFLOWS
    for provider in (ProviderName.SIMULATED, ProviderName.TERRAFORM)
}
EXPRESSION = re.compile(r"\{%(.*?)%\}", re.DOTALL)


@dataclass(frozen=True)
class Machine:
    name: str
    text: str
    definition: dict[str, Any]

    @property
    def states(self) -> dict[str, dict[str, Any]]:
        """Return all states, those for each item of a Map after it: names are unique in the whole machine."""
        found = {}
        for name, state in self.definition["States"].items():
            found[name] = state
            found.update(_for_each(state).get("States", {}))
        return found

    def map_around(self, name: str) -> str | None:
        """Return the Map whose items go through a state."""
        for outer, state in self.definition["States"].items():
            if name in _for_each(state).get("States", {}):
                return outer
        return None

    def tasks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return ((name, state) for name, state in self.states.items() if state["Type"] == "Task")

    def lambdas(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the tasks that call a function of Tidegate's own."""
        return (
            (name, state)
            for name, state in self.tasks()
            if ":lambda:invoke" in state["Resource"] and state["Arguments"]["FunctionName"].startswith("${")
        )

    def edges(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield what follows a state: how (each, next, default, choice or catch), and which."""
        state = self.states[name]
        if "StartAt" in _for_each(state):
            yield "each", _for_each(state)["StartAt"]
        for key in ("Next", "Default"):
            if key in state:
                yield key.lower(), state[key]
        yield from (("choice", choice["Next"]) for choice in state.get("Choices", []))
        yield from (("catch", catch["Next"]) for catch in state.get("Catch", []))


def _for_each(state: dict[str, Any]) -> dict[str, Any]:
    return state.get("ItemProcessor", {})


def read(name: str) -> Machine:
    folder = ROOT / "stepfunctions"
    if name in RENDERED:
        text = cluster_machine(folder, *RENDERED[name], INSTALLED)
    else:
        text = rendered(folder / f"{name}.asl.yaml")
    return Machine(name, text, json.loads(text))


def read_deployed(name: str) -> Machine:
    """Return a machine as an installation has it whose plans run on Fargate."""
    from tidegate_cdk.asl_state_machine import without_states
    from tidegate_cdk.plan_runner import LAMBDA_STATES

    text = without_states(read(name).text, LAMBDA_STATES)
    return Machine(name, text, json.loads(text))


#: Those that are files, and those of cluster workflows.
MACHINES = [read(name) for name in NAMES]
CLUSTER_MACHINES = [read(name) for name in RENDERED]


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def expressions(value: Any) -> Iterator[str]:
    for text in strings(value):
        yield from (match.strip() for match in EXPRESSION.findall(text))
