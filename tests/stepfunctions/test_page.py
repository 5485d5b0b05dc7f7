"""The generated page shows the state machines as they are."""

from __future__ import annotations

import importlib.util

from tests.stepfunctions.machines import MACHINES, ROOT
from tidegate.clusters.rules.task import Capability
from tidegate.clusters.rules.workflow import WORKFLOWS
from tidegate.clusters.rules.workflow_tasks import tasks_of


def _describe():
    spec = importlib.util.spec_from_file_location("describe", ROOT / "stepfunctions" / "describe.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_files_say():
    module = _describe()
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "run `make docs`"


def test_the_page_shows_each_cluster_workflow_once_with_its_tasks():
    page = _describe().page()
    for workflow in WORKFLOWS:
        shown = page.partition(f"### {workflow.name}\n")[2].partition("\n### ")[0]
        assert page.count(f"### {workflow.name}\n") == 1
        assert all(f"| {task.contract} |" in shown for task in tasks_of(workflow, frozenset(Capability)))


def test_the_page_shows_every_state_and_every_way_out():
    page = _describe().page()
    for machine in MACHINES:
        assert all(f"| **{name}** |" in page for name in machine.states)
    arrows = sum(len(list(machine.edges(name))) for machine in MACHINES for name in machine.states)
    assert page.count("-->") + page.count(".->") == arrows + len(MACHINES)
