"""Jobs of pipelines, trees, and a default branch that nobody may push to."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN, PROJECT
from tests.gitlab.published import check
from tidegate_local.forge.client_calls import ForgeAnswered

JOBS = f"{IN}/pipelines"


def test_a_pipeline_lists_its_own_jobs_and_no_statuses(api, maintainer, sha):
    pipeline = maintainer.run_jobs(PROJECT, "main", build="failed", test="running")
    maintainer.set_status(PROJECT, sha, "other", "success")
    jobs = {one["name"]: one["status"] for one in api.call("GET", f"{JOBS}/{pipeline}/jobs")}
    assert jobs == {"build": "failed", "test": "running"}
    assert {one["name"] for one in maintainer.statuses(PROJECT, sha)} == {"build", "test", "other"}


def test_a_job_is_retried_once_it_has_ended(api, maintainer, sha):
    pipeline = maintainer.run_jobs(PROJECT, "main", build="failed")
    (job,) = api.call("GET", f"{JOBS}/{pipeline}/jobs")
    assert job["failure_reason"] == "script_failure"
    again = api.call("POST", f"{IN}/jobs/{job['id']}/retry")
    assert (again["id"] > job["id"], again["status"]) == (True, "pending")
    listed = api.call("GET", f"{JOBS}/{pipeline}/jobs?include_retried=true")
    assert [one["id"] for one in listed] == [job["id"], again["id"]]
    for number, status in ((job["id"], 403), (again["id"], 403), (1, 404)):
        assert api.ask("POST", f"{IN}/jobs/{number}/retry", token="maintainer")[0] == status


def test_jobs_and_pipelines_are_told(maintainer, receiver, sha):
    maintainer.run_jobs(PROJECT, "main", build="failed")
    (job,) = receiver.wait_for("Job Hook", build_status="failed")
    check("WebhookJobEventSchema", job["payload"])
    maintainer.set_status(PROJECT, sha, "other", "success")
    (pipeline,) = receiver.wait_for("Pipeline Hook")
    check("WebhookPipelineEventSchema", pipeline["payload"])
    assert (job["payload"]["sha"], pipeline["payload"]["object_attributes"]["sha"]) == (sha, sha)


def test_a_tree_lists_a_directory(api, sha):
    (entry,) = api.call("GET", f"{IN}/repository/tree?ref={sha}&path=network")
    assert (entry["path"], entry["mode"]) == ("network/main.tf", "100644")
    assert api.ask("GET", f"{IN}/repository/blobs/{entry['id']}/raw", token="maintainer")[2].startswith("resource")
    assert api.ask("GET", f"{IN}/repository/tree?ref={sha}&path=none", token="maintainer")[0] == 404
    assert api.ask("GET", f"{IN}/repository/blobs/none/raw", token="maintainer")[0] == 404


def test_nobody_pushes_to_a_default_branch_that_is_for_nobody(maintainer, sha):
    maintainer.protect(PROJECT)
    with pytest.raises(ForgeAnswered, match="not allowed to push"):
        maintainer.push(PROJECT, {"b.tf": "# b\n"}, "Second")
    maintainer.protect(PROJECT, push_access_level=40)
    maintainer.push(PROJECT, {"b.tf": "# b\n"}, "Second")
