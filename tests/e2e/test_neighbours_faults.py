"""Neighbours that fail for a while, or for good: the forge, Step Functions, the audit topic, the artifact bucket."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.project import title, words


@pytest.mark.nightly
def test_a_throttled_start_of_an_execution_is_made_up_for(project):
    tidegate = project.tidegate
    throttled = tidegate.cloud.add_fault(
        service="states", action="StartExecution", error="ThrottlingException", times=3
    )
    sha = project.push({"app": thing()})
    project.deployed(sha, "app")
    assert tidegate.cloud.read("faults")[throttled] == 3
    end = project.ended(sha, "app")
    assert tidegate.audited(end["external_id"]) == ["RUNNING", "SUCCESS"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "times"), [("secondary_limit", 2), ("server_error", 1), ("bad_credentials", 1), ("close", 1)]
)
def test_a_deploy_goes_on_while_the_forge_fails_and_its_last_check_run_is_right(project, kind, times):
    sha = project.push({"app": thing()})
    asked = project.reviewed(sha, "app")
    for method in ("POST", "PATCH"):
        path = f"/api/v3/repos/{project.name}/check-runs.*|/api/v3/app/installations/.*"
        project.tidegate.maintainer.inject(kind, method=method, path=path, times=times, seconds=1)
    project.click(asked, "Approve")
    end = project.ended(sha, "app")
    assert title(end).startswith("Applied")
    assert end["conclusion"] == "success"
    assert project.value("app") == "one"
    assert project.tidegate.audited(end["external_id"]) == ["RUNNING", "SUCCESS"]


def test_an_altered_plan_is_not_applied(project):
    tidegate = project.tidegate
    sha = project.push({"app": thing()})
    asked = project.reviewed(sha, "app")
    key = f"plans/{asked['external_id']}-plan-1/plan.tfplan"
    plan = tidegate.object("artifact_bucket", key)
    s3 = tidegate.cloud.client("s3")
    s3.put_object(Bucket=tidegate.cloud.artifact_bucket, Key=key, Body=plan[:-1] + bytes([plan[-1] ^ 1]))
    project.click(asked, "Approve")
    end = project.ended(sha, "app")
    assert end["conclusion"] == "failure"
    assert "differs from the reviewed plan" in words(end)
    assert project.state("app") is None
    assert tidegate.audited(end["external_id"]) == ["RUNNING", "FAILURE"]


def test_without_its_audit_message_no_apply_starts(project):
    tidegate = project.tidegate
    tidegate.cloud.add_fault(service="sns", action="Publish", error="InternalError", status=500, times=None)
    sha = project.push({"app": thing()})
    project.approved(sha, "app")
    end = project.ended(sha, "app")
    assert end["conclusion"] == "failure"
    assert "audit" in words(end)
    assert "nothing was applied" in words(end).lower()
    assert tidegate.runners(f"{end['external_id']}-apply-1", "STOPPED") == []
    assert project.state("app") is None
    tidegate.cloud.clear_faults()
    after = project.push({"app": thing("later")})
    project.deployed(after, "app")
