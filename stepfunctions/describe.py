"""Writes stepfunctions/README.md from the state machines: a diagram and a table of each. ``make docs`` runs it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegate.aws.definitions import ENDING, rendered
from tidegate.clusters.rules.task import Capability, Fact
from tidegate.clusters.rules.workflow import WORKFLOWS, Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of

HERE = Path(__file__).resolve().parent
PAGE = HERE / "README.md"
#: The machines that are a file each, in the order of the page.
NAMES = (
    "deploy",
    "terraform",
    "pull_request",
    "drift",
    "config_update",
    "promotion",
    "cluster_task",
    "cluster_error",
)
_INTRODUCTION = """# State machines

Standard state machines in JSONata. Eight are a YAML file each; those of [cluster workflows](#cluster-workflows) are put
together from `cluster_parts.yaml`. `shared.yaml` defines what they share, such as retries. All are rendered to JSON,
which is deployed, linted and run locally. To open a machine in Workflow Studio, print it:
`.venv/bin/python -m stepfunctions.render stepfunctions/deploy.asl.yaml`, or
`.venv/bin/python -m stepfunctions.render cluster-management-create-terraform`.

This page is generated from the files by `make docs`; a test fails when it is stale.

- State names are short sentences, choices are questions, every state has a `Comment`.
- Expressions select and compare. Anything more is a function.
- `tidegate_cdk/asl_state_machine.py` replaces placeholders (`${…}`), and refuses one without a value.
- Executions with an expected outcome (rejected, failed plan) succeed and record their state; only internal errors fail.
- Dotted arrows are caught errors. A box around states is the processing of each item of a Map.
"""


def page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for name in NAMES:
        machine = json.loads(rendered(HERE / f"{name}{ENDING}"))
        parts.append(f"## {name}\n\n{machine['Comment']}\n\n{_diagram(machine)}\n\n{_table(_all(machine['States']))}\n")
    return "\n".join([*parts, _CLUSTERS, *(_workflow(workflow) for workflow in WORKFLOWS)])


_CLUSTERS = """## Cluster workflows

`cluster-WORKFLOW-PROVIDER` is one machine for each workflow and provider. It locks the cluster, does the tasks below,
and records what the cluster is then. Each task is these states, in this order:

1. *Is it needed to …?*, if only the cluster's file or what the cluster is now decides it. The plan has the answer.
2. *Run hooks of the repository before: …*, a Map over the hooks that `tidegate.yaml` declares.
3. *Run the hook … of …*, a state for each hook of the installation before the task.
4. The task itself, an execution of [cluster_task](#cluster_task).
5. The hooks of the installation after it, then *Run hooks of the repository after: …*.

Hooks of the whole workflow run before the first task and after the last one. Whatever fails leads to *Handle the
error*, an execution of [cluster_error](#cluster_error), and then to *Failed*. Tasks in *italics* are only there for
providers that need a bootstrap cluster. The limits of a task's components come to its time limit.
"""
_DUE = {
    Fact.ALWAYS: "",
    Fact.CLUSTER_CHANGES: "the cluster itself changes",
    Fact.COMPONENTS: "there are such components",
    Fact.GITOPS: "a GitOps agent is named",
    Fact.OTHER_CLUSTERS: "it manages other clusters",
}


def _workflow(workflow: Workflow) -> str:
    tasks = tasks_of(workflow, frozenset(Capability))
    chain = " ==> ".join(f't{number}["{task.title}"]' for number, task in enumerate(tasks))
    lines = ["| Task | What is true after it | Needs | Produces | Only if | Time limit |", "|---|---|---|---|---|---|"]
    for task in tasks:
        name = f"*{task.title}*" if task.capability else f"**{task.title}**"
        needs = ", ".join((*task.needs, *(f"{key}, if produced" for key in task.uses)))
        cells = (name, task.contract, needs, ", ".join(task.produces), _DUE[task.fact], _duration(task.seconds))
        lines.append(f"| {' | '.join(cells)} |")
    table = "\n".join(lines)
    return f"### {workflow.name}\n\n```mermaid\nflowchart LR\n  {chain}\n```\n\n{table}\n"


def _all(states: Mapping[str, Any]) -> dict[str, Any]:
    """Return all states, those of a Map's items after it."""
    found = {}
    for name, state in states.items():
        found[name] = state
        found.update(_of_items(state))
    return found


def _of_items(state: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = state.get("ItemProcessor", {}).get("States", {})
    return found


def _diagram(machine: Mapping[str, Any]) -> str:
    states = _all(machine["States"])
    ids = {name: f"s{number}" for number, name in enumerate(states)}
    lines = ["```mermaid", "flowchart TD", f"  start(( )) --> {ids[machine['StartAt']]}"]
    for name, state in machine["States"].items():
        lines.append(f"  {ids[name]}{_box(name, state)}")
        if inner := _of_items(state):
            lines.append(f'  subgraph each{ids[name]}["each of them"]')
            lines += [f"    {ids[one]}{_box(one, inner[one])}" for one in inner]
            lines.append("  end")
    lines += [f"  {ids[name]} {arrow} {ids[target]}" for name in states for arrow, target in _arrows(states[name])]
    return "\n".join([*lines, "```"])


def _box(name: str, state: Mapping[str, Any]) -> str:
    left, right = {"Choice": ("{", "}"), "Succeed": ("([", "])"), "Fail": ("[[", "]]"), "Wait": ("[/", "/]")}.get(
        state["Type"], ("[", "]")
    )
    return f'{left}"{name}"{right}'


def _arrows(state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield arrows and their targets; several causes that lead to the same state are one dotted arrow."""
    if "ItemProcessor" in state:
        yield '-- "each" -->', state["ItemProcessor"]["StartAt"]
    for choice in state.get("Choices", []):
        yield f'-- "{_condition(choice)}" -->', choice["Next"]
    if "Default" in state:
        yield '-- "otherwise" -->', state["Default"]
    if "Next" in state:
        yield "-->", state["Next"]
    for catch in state.get("Catch", []):
        yield f'-. "{_causes(catch)}" .->', catch["Next"]


def _condition(choice: Mapping[str, Any]) -> str:
    text: str = choice["Condition"]
    return text.removeprefix("{%").removesuffix("%}").strip().replace("$states.input.", "").replace('"', "'")


def _causes(catch: Mapping[str, Any]) -> str:
    causes = ["anything else" if error == "States.ALL" else error for error in catch["ErrorEquals"]]
    return ", ".join(causes)


def _table(states: Mapping[str, Any]) -> str:
    lines = ["| State | What for | Does | Time limit | Tried again |", "|---|---|---|---|---|"]
    for name, state in states.items():
        cells = (f"**{name}**", state["Comment"], _does(state), _limit(state), _retries(state))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def _does(state: Mapping[str, Any]) -> str:
    if state["Type"] == "Map":
        return f"does the following for each, {state['MaxConcurrency']} at a time"
    if state["Type"] != "Task":
        return {"Succeed": "ends", "Fail": "ends as failed", "Choice": "chooses", "Wait": "waits"}.get(
            state["Type"], "remembers"
        )
    arguments = state["Arguments"]
    what = arguments.get("FunctionName") or arguments.get("TaskDefinition") or arguments.get("StateMachineArn")
    payload = arguments.get("Payload", {})
    kind = payload.get("kind") if isinstance(payload, Mapping) else None
    asked = f"`{kind}` by `{what}`" if kind else f"`{what}`"
    return asked + (", waits for its token" if state["Resource"].endswith("waitForTaskToken") else "")


def _limit(state: Mapping[str, Any]) -> str:
    if "Seconds" in state:
        return _duration(state["Seconds"])
    if "TimeoutSeconds" not in state:
        return ""
    heartbeat = state.get("HeartbeatSeconds")
    return _duration(state["TimeoutSeconds"]) + (f", heartbeat {_duration(heartbeat)}" if heartbeat else "")


def _duration(seconds: float) -> str:
    if not isinstance(seconds, (int, float)):
        return f"`{seconds}`"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _retries(state: Mapping[str, Any]) -> str:
    return "<br>".join(
        f"{', '.join(retry['ErrorEquals'])}: {retry['MaxAttempts']} times" for retry in state.get("Retry", [])
    )


if __name__ == "__main__":
    sys.exit(PAGE.write_text(page(), encoding="utf-8") < 1)
