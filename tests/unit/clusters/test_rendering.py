"""The state machine of a workflow: which states it has, in which order, and what each says."""

from __future__ import annotations

import json
import re

import pytest

from tests.stepfunctions.installed_hooks import INSTALLED
from tests.stepfunctions.machines import CLUSTER_MACHINES, ROOT
from tests.unit.clusters.clusters import SIMULATED, TERRAFORM, a_hook, a_plan, registering
from tidegate.aws.definitions import rendered
from tidegate.clusters.adapters.machines import PARTS
from tidegate.clusters.rules.refusals import KeyNotProduced, UnknownAnchor
from tidegate.clusters.rules.registrar import NAME
from tidegate.clusters.rules.rendering import MOST_SECONDS, STARTING_AND_WAITING, render
from tidegate.clusters.rules.task import Capability, Task
from tidegate.clusters.rules.workflow import WORKFLOWS, Operation, Workflow
from tidegate.clusters.rules.workflow_tasks import tasks_of
from tidegate.deploys.rules.cluster import ClusterKind, HookPoint

_PARTS = json.loads(rendered(ROOT / "stepfunctions" / PARTS))
_CREATE = Workflow(ClusterKind.MANAGEMENT, Operation.CREATE)


def _states(*registrars, workflow=_CREATE, provider=SIMULATED):
    return render(workflow, provider, registrars, _PARTS)["States"]


def test_what_the_provider_cannot_do_has_no_state():
    with_bootstrap, without = _states(), _states(provider=TERRAFORM)
    assert "Create the bootstrap cluster" in with_bootstrap
    assert not [name for name in without if "bootstrap" in name or "Pivot" in name]


def test_what_only_the_specification_decides_is_a_choice():
    states = _states(provider=TERRAFORM)
    choice = states["Is it needed to install the networking?"]
    assert choice["Choices"][0]["Next"] == "Run hooks of the repository before: install the networking"
    assert choice["Default"] == "Run hooks of the repository before: install the management components"
    assert "Is it needed to create the management cluster?" not in states


def test_a_task_that_is_left_out_at_the_end_leads_to_the_hooks_at_the_end():
    assert (
        _states()["Is it needed to delete the bootstrap cluster?"]["Default"]
        == "Run hooks of the repository at the end"
    )


def test_a_hook_of_the_installation_is_a_state_between_those_of_the_repository_and_the_task():
    states = _states(registering(_CREATE, (HookPoint.BEFORE, "validate", a_hook("mine", about="Asks first."))))
    hook = states["Run the hook mine of installation"]
    assert (
        states["Run hooks of the repository before: validate the cluster"]["Next"]
        == "Run the hook mine of installation"
    )
    assert hook["Next"] == "Validate the cluster"
    assert hook["Comment"].startswith("Asks first.")
    assert {"task": "validate", "hook": "mine", "registrar": "installation"}.items() <= hook["Arguments"][
        "Input"
    ].items()


def test_mistakes_of_the_installations_hooks_show_at_synth():
    with pytest.raises(UnknownAnchor):
        _states(registering(_CREATE, (HookPoint.BEFORE, "validat", a_hook())))
    with pytest.raises(KeyNotProduced):
        _states(registering(_CREATE, (HookPoint.BEFORE, "validate", a_hook(needs=("backup",)))))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_a_machine_knows_the_plans_that_were_made_for_it(workflow):
    lock = _states(*INSTALLED, workflow=workflow)["Lock the cluster"]
    assert lock["Arguments"]["Payload"]["machine"] == a_plan(workflow, *INSTALLED).machine


#: Seconds that a workflow waits for its cluster's lock, at most.
_LOCK = 5400


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_all_tasks_together_take_less_time_than_the_execution(workflow):
    tasks = tasks_of(workflow, frozenset(Capability))
    limits = [_states(workflow=workflow)[task.title]["TimeoutSeconds"] for task in tasks]
    assert _LOCK + sum(limits) < MOST_SECONDS
    assert all(limit >= task.seconds + STARTING_AND_WAITING for task, limit in zip(tasks, limits, strict=True))


def _longest_titles():
    return [task for workflow in WORKFLOWS for task in tasks_of(workflow, frozenset(Capability))]


@pytest.mark.parametrize("task", _longest_titles(), ids=lambda task: task.id)
def test_names_of_states_have_room_for_every_title(task: Task):
    assert len(f"Run hooks of the repository before: {task.title}") <= 80


def test_names_of_states_have_room_for_every_hook():
    name = "x" * 30
    assert NAME.fullmatch(name)
    assert not NAME.fullmatch(name + "x")
    assert (
        max(len(each) for each in _states(registering(_CREATE, (HookPoint.BEFORE, "", a_hook(name)), name=name))) <= 80
    )


@pytest.mark.parametrize("machine", CLUSTER_MACHINES, ids=lambda machine: machine.name)
def test_names_of_executions_have_room_for_the_longest_deployment(machine):
    """A deployment's id has up to 64 characters, an execution's name 80: hooks are told apart by their numbers."""
    for name in re.findall(r"\$deployment & '(-\d+)(-?)'", machine.text):
        assert 64 + len("".join(name)) + len("499") <= 80
