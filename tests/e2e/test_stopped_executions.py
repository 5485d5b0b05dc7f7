"""Executions that are stopped from outside: their records are closed, and their queue goes on."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import gated, thing
from tests.e2e.project import at_the_gate, gate_of, title, words
from tidegate.roots.rules.root import queue_id, worker_name

pytestmark = pytest.mark.nightly


@pytest.fixture(params=["terraform", "deploy"])
def stop(project, request):
    """Stop the execution of a machine that a deployment is in."""

    def stop(deployment):
        worker = worker_name(queue_id(project.name, "app"), 1)
        [execution] = project.tidegate.executions(request.param, deployment if request.param == "terraform" else worker)
        project.tidegate.cloud.client("stepfunctions").stop_execution(executionArn=execution["executionArn"])

    return stop


def _goes_on(project, *, unlocking=None):
    later = project.push({"app": thing("later")})
    if unlocking:
        buttons = project.person("reviewer").buttons
        eventually(lambda: "Unlock" in buttons(project.name, unlocking["id"]), what="the button of what locks")
        project.click(unlocking, "Unlock")
    project.deployed(later, "app")
    assert project.value("app") == "later"


def test_a_deployment_whose_execution_is_stopped_in_its_plan_ends_and_the_queue_goes_on(project, stop):
    cloud = project.tidegate.cloud
    held = cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=10)
    sha = project.push({"app": thing()})
    eventually(lambda: cloud.read("faults").get(held), what="the engine at its backend")
    deployment = project.wait(sha, "app", lambda run: bool(run["external_id"]))["external_id"]
    stop(deployment)
    end = project.wait(sha, "app", "Internal error")
    assert "nothing was applied" in words(end).lower()
    assert project.tidegate.audited(deployment) == []
    cloud.clear_faults()
    _goes_on(project)


def test_a_deployment_whose_execution_is_stopped_in_its_review_ends_and_the_queue_goes_on(project, stop):
    sha = project.push({"app": thing()})
    asked = project.reviewed(sha, "app")
    stop(asked["external_id"])
    end = project.wait(sha, "app", "Internal error")
    assert "nothing was applied" in words(end).lower()
    _goes_on(project)
    assert title(project.newest(sha, "app")).startswith("Internal error")
    assert project.tidegate.audited(asked["external_id"]) == []


def test_a_deployment_whose_execution_is_stopped_in_its_apply_is_of_unknown_outcome_and_locks(project, stop, tmp_path):
    sha = project.push({"app": gated(gate_of(tmp_path))})
    deployment = project.approved(sha, "app")["external_id"]
    at_the_gate(project, f"{deployment}-apply-1")
    stop(deployment)
    unknown = project.wait(sha, "app", "Outcome unknown")
    assert project.tidegate.audited(deployment) == ["RUNNING", "UNKNOWN"]
    # The runner goes on: an apply is never killed. It ends, and its state is saved.
    gate_of(tmp_path).touch()
    eventually(lambda: project.state("app"), what="the end of the apply that nobody waits for")
    eventually(lambda: not project.tidegate.runners(f"{deployment}-apply-1"), what="the end of its runner")
    _goes_on(project, unlocking=unknown)
    assert project.tidegate.audited(deployment) == ["RUNNING", "UNKNOWN", "UNLOCKED"]
