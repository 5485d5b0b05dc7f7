"""Somebody cancels a plan that hangs: its runner ends, and the queue goes on."""

from __future__ import annotations

import httpx
import pytest

from tests.e2e.modules import thing
from tests.e2e.pages import SECONDS
from tests.e2e.patience import eventually


@pytest.mark.nightly
def test_a_plan_that_hangs_is_cancelled_its_runner_ends_and_the_next_deployment_goes_on(project):
    tidegate, cloud = project.tidegate, project.tidegate.cloud
    held = cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=60)
    sha = project.push({"app": thing()})
    eventually(lambda: cloud.read("faults").get(held), what="the engine at its backend")
    deployment = project.wait(sha, "app", lambda run: bool(run["external_id"]))["external_id"]
    later = project.push({"app": thing("second")})
    project.wait(later, "app", lambda run: run["status"] == "queued")
    cloud.clear_faults()

    token = {"Authorization": "Bearer reviewer"}
    with httpx.Client(base_url=cloud.api_url, headers=token, trust_env=False, timeout=SECONDS) as api:
        answer = api.post(f"/api/deployments/{deployment}/cancel", json={})
    assert (answer.status_code, answer.json()["deployment"]["state"]) == (200, "cancelled")

    assert project.ended(sha, "app")["conclusion"] == "cancelled"
    eventually(lambda: tidegate.runners(f"{deployment}-plan-1") == [], what="the end of its runner")
    project.deployed(later, "app")
    assert tidegate.states(deployment)[-1] == "Cancelled"
    assert tidegate.audited(deployment) == ["CANCELLED"]
