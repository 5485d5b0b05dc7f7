"""Runners that die: a plan is made again, an apply never."""

from __future__ import annotations

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import gated, thing
from tests.e2e.project import at_the_gate, gate_of, title, words


@pytest.mark.nightly
def test_a_runner_that_is_killed_while_it_plans_is_replaced_and_the_deploy_succeeds(project):
    tidegate, cloud = project.tidegate, project.tidegate.cloud
    # The engine is held at the backend's first answer, so that the runner is in the middle of its plan.
    held = cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=60)
    sha = project.push({"app": thing()})
    eventually(lambda: cloud.read("faults").get(held), what="the engine at its backend")
    deployment = project.wait(sha, "app", lambda run: bool(run["external_id"]))["external_id"]
    (task,) = tidegate.runners(f"{deployment}-plan-1")
    cloud.kill_task(task)
    asked = project.reviewed(sha, "app")
    assert tidegate.runners(f"{deployment}-plan-1") == []
    assert len(tidegate.runners(f"{deployment}-plan-2", "STOPPED") + tidegate.runners(f"{deployment}-plan-2")) == 1
    project.click(asked, "Approve")
    assert project.ended(sha, "app")["conclusion"] == "success"
    assert tidegate.audited(deployment) == ["RUNNING", "SUCCESS"]


def test_a_runner_that_is_killed_while_it_applies_leaves_the_outcome_unknown_until_somebody_has_looked(
    project, tmp_path
):
    tidegate, gate = project.tidegate, gate_of(tmp_path)
    sha = project.push({"app": gated(gate)})
    deployment = project.approved(sha, "app")["external_id"]
    tidegate.cloud.kill_task(at_the_gate(project, f"{deployment}-apply-1"))
    unknown = project.wait(sha, "app", lambda run: title(run).endswith("the queue is locked"))
    assert unknown["conclusion"] == "action_required"
    assert "Unlock" in words(unknown)
    assert tidegate.audited(deployment) == ["RUNNING", "UNKNOWN"]

    waiting = project.push({"app": thing()})
    assert "locked" in title(project.wait(waiting, "app", lambda run: "locked" in title(run)))
    tidegate.reconcile()
    tidegate.cloud.client("s3").delete_object(
        Bucket=tidegate.cloud.state_bucket, Key=f"{project.state_key('app')}.tflock"
    )
    project.click(unknown, "Unlock")
    project.deployed(waiting, "app")
    project.wait(sha, "app", "Outcome unknown, unlocked")
    assert tidegate.states(deployment).count("Apply") == 1
    assert len(tidegate.runners(f"{deployment}-apply-1", "STOPPED")) == 1
    assert tidegate.audited(deployment) == ["RUNNING", "UNKNOWN", "UNLOCKED"]


@pytest.mark.nightly
def test_a_runner_that_is_told_to_stop_while_it_applies_interrupts_the_engine_once_and_saves_the_state(
    project, tmp_path
):
    tidegate = project.tidegate
    sha = project.push({"app": f"{thing('before')}{gated(gate_of(tmp_path)).replace('input ', '# ')}"})
    deployment = project.approved(sha, "app")["external_id"]
    job = f"{deployment}-apply-1"
    tidegate.cloud.interrupt_task(at_the_gate(project, job))
    gate_of(tmp_path).touch()
    end = project.wait(sha, "app", lambda run: title(run).startswith(("The apply failed", "Outcome unknown")))
    log = tidegate.log_of(job)
    assert log.count("Interrupt received") == 1
    assert "SIGTERM" in words(end)
    assert "thing" in {resource["name"] for resource in project.state("app")["resources"]}
    assert tidegate.audited(deployment)[0] == "RUNNING"
    assert len(tidegate.audited(deployment)) == 2
    # The engine gave its lock on the state back.
    assert tidegate.object("state_bucket", f"{project.state_key('app')}.tflock") is None
