"""Somebody cancels what plans or applies: its runner ends, the record says how, and the queue goes on or is locked."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import gated, thing
from tests.e2e.project import at_the_gate, cancel, gate_of, title, words

pytestmark = pytest.mark.nightly


def test_a_plan_that_hangs_is_cancelled_its_runner_ends_and_the_next_deployment_goes_on(project):
    tidegate, cloud = project.tidegate, project.tidegate.cloud
    held = cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=60)
    sha = project.push({"app": thing()})
    eventually(lambda: cloud.read("faults").get(held), what="the engine at its backend")
    deployment = project.wait(sha, "app", lambda run: bool(run["external_id"]))["external_id"]
    later = project.push({"app": thing("second")})
    project.wait(later, "app", lambda run: run["status"] == "queued")
    cloud.clear_faults()

    status, answer = cancel(project, deployment)
    assert (status, answer["deployment"]["state"]) == (200, "cancelled")

    assert project.ended(sha, "app")["conclusion"] == "cancelled"
    eventually(lambda: tidegate.runners(f"{deployment}-plan-1") == [], what="the end of its runner")
    project.deployed(later, "app")
    assert tidegate.states(deployment)[-1] == "Cancelled"
    assert tidegate.audited(deployment) == ["CANCELLED"]


@pytest.fixture
def applying(project, tmp_path):
    """Return a commit, its deployment, and its runner, whose engine has made ``thing`` and waits at a gate."""
    sha = project.push({"app": thing("before") + gated(gate_of(tmp_path))})
    deployment = project.approved(sha, "app")["external_id"]
    return sha, deployment, at_the_gate(project, f"{deployment}-apply-1")


def test_an_apply_is_interrupted_only_if_that_is_meant_and_ends_as_its_engine_says(project, applying):
    sha, deployment, _ = applying
    status, answer = cancel(project, deployment)
    assert (status, "--apply" in answer["error"]["message"]) == (409, True)
    later = project.push({"app": thing("after")})
    project.wait(later, "app", lambda run: run["status"] == "queued")

    status, answer = cancel(project, deployment, apply=True)
    assert (status, answer["deployment"]["state"]) == (200, "applying")
    failed = project.ended(sha, "app")
    assert title(failed).startswith("The apply failed")
    assert failed["conclusion"] == "failure"
    assert "reviewer cancelled it during its apply" in words(failed)
    assert project.tidegate.audited(deployment) == ["RUNNING", "CANCELLING", "FAILURE"]
    # The engine stored what it had made, and gave its lock back: nothing else holds back the next deployment.
    project.deployed(later, "app")
    assert project.value("app") == "after"


def test_an_interrupted_apply_whose_engine_does_not_say_how_it_ended_is_of_unknown_outcome_and_locks(project, applying):
    sha, deployment, task = applying
    tidegate, cloud = project.tidegate, project.tidegate.cloud
    held = cloud.add_fault(service="s3", action="PutObject", role="*ApplyEngine*", delay=60)
    assert cancel(project, deployment, apply=True)[0] == 200
    eventually(lambda: cloud.read("faults").get(held), what="the engine to store its state")
    cloud.kill_task(task)
    unknown = project.wait(sha, "app", "Outcome unknown")
    assert "reviewer cancelled it during its apply" in words(unknown)
    assert tidegate.audited(deployment) == ["RUNNING", "CANCELLING", "UNKNOWN"]
    cloud.clear_faults()

    later = project.push({"app": thing("after")})
    project.wait(later, "app", lambda run: "locked" in title(run))
    cloud.client("s3").delete_object(Bucket=cloud.state_bucket, Key=f"{project.state_key('app')}.tflock")
    project.click(unknown, "Unlock")
    project.deployed(later, "app")
    assert tidegate.states(deployment).count("Apply") == 1
