"""Drift on its page and by the API."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.scenario import Client
from tests.builders import NOW, REPOSITORY, any_drift, any_drift_finding, any_job, any_layer, deployment_in, sha
from tidegate.config.rules.drift import DriftState
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import KnownRepository
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.rules.headline import Headline

JOB = "network-1-speculate-1"


@pytest.fixture
def drifted(wires):
    """A schedule that found a root that drifted, and one whose plan failed."""
    finding = any_drift_finding(changes=PlannedChanges(change=1), job=JOB, deployment="network-2", shared=True)
    failed = any_drift_finding("app", state=DriftState.FAILED, reason="No <b>luck</b>.", drifted_since=None)
    record = any_drift(
        findings=(failed, finding),
        sha=sha(3),
        headline=Headline("Grow it", "developer", "", 12, "Grow the queue"),
        ended_at=NOW,
        notice="One.\nTwo <i>.",
        issue=7,
        is_reported=True,
    )
    wires.deployments.add(deployment_in(State.QUEUED, id="network-2"))
    return wires.drifts.save(record)


def test_drift_that_its_deployment_undid_says_so(wires, drifted, browser, reader):
    done = wires.deployments.get("network-2")
    wires.deployments.save(replace(done, state=State.APPLIED))
    assert "Undone by its deployment, after the last run" in browser.get("/drift").text
    assert reader.get("/api/v1/drift").json["schedules"][0]["roots"][1]["undoing"] == "undone"


def test_a_deployment_that_is_not_there_is_told_and_not_linked(wires, drifted, browser, reader):
    finding = any_drift_finding(deployment="network-3")
    wires.drifts.save(replace(drifted, findings=(finding,)))
    page = browser.get("/drift")
    assert "/deployments/network-3" not in page.body
    assert "is not queued yet or was refused" in page.text
    found = reader.get("/api/v1/drift").json["schedules"][0]["roots"][0]
    assert (found["deployment"], found["undoing"]) == (None, "absent")


def test_the_page_says_what_the_commit_is_that_was_checked(drifted, browser):
    assert f"at {sha(3)[:7]} (Grow the queue #12)" in browser.get("/drift").text


def test_the_api_tells_what_was_found(drifted, reader):
    (one,) = reader.get(f"/api/v1/drift?repository={REPOSITORY}").json["schedules"]
    assert (one["schedule"], one["when"], one["revision"]) == ("nightly", drifted.entry.timetable.words, sha(3))
    assert one["headline"]["pull_request_title"] == "Grow the queue"
    assert (one["running"], one["looked_at"], one["report"]) == (False, timestamp_text(NOW), "issue")
    assert one["issue_url"].endswith(f"/{REPOSITORY}/issues/7")
    app, network = one["roots"]
    assert (app["root"], app["state"], app["reason"], app["job"]) == ("app", "failed", "No <b>luck</b>.", None)
    assert (network["drifted_since"], network["changes"]["change"], network["deployment"]) == (
        timestamp_text(NOW),
        1,
        "network-2",
    )
    assert network["job"]["url"].endswith(f"/jobs/{JOB}")


def test_a_schedule_that_has_not_run_says_so(wires, reader, browser):
    wires.drifts.save(any_drift(execution="run-1", started_at=NOW, problem="There is no such time zone."))
    (one,) = reader.get(f"/api/v1/drift?repository={REPOSITORY}").json["schedules"]
    assert (one["running"], one["looked_at"], one["revision"], one["issue_url"]) == (True, None, None, None)
    text = browser.get(f"/drift?repository={REPOSITORY}").text
    assert "It has not run yet." in text
    assert "Running since" in text
    assert "There is no such time zone." in text


def test_without_a_repository_those_of_all_that_one_may_read_are_listed(wires, drifted, reader):
    wires.drifts.save(replace(drifted, repository="acme/other", version=0))
    assert [one["repository"] for one in reader.get("/api/v1/drift").json["schedules"]] == [REPOSITORY]
    wires.repository_index.remember(KnownRepository("acme/other", "main", "0" * 40, NOW))
    assert {one["repository"] for one in reader.get("/api/v1/drift").json["schedules"]} == {REPOSITORY, "acme/other"}


def test_the_page_shows_what_drifted_since_when_and_leads_to_the_plan(drifted, browser):
    for path in ("/drift", f"/drift?repository={REPOSITORY}"):
        page = browser.get(path)
        assert page.status == 200
        assert "Drifted" in page.text
        assert "1 to change" in page.text
        assert "in default" in page.text
        assert f'href="/jobs/{JOB}"' in page.body
        assert 'href="/deployments/network-2"' in page.body
        assert "Issue #7" in page.text
        assert "Two &lt;i&gt;." in page.body
        assert "No &lt;b&gt;luck" in page.body


def test_a_page_without_schedules_says_how_to_make_one(browser):
    assert "No drift schedules are configured" in browser.get("/drift").text


def test_the_log_of_a_look_leads_back_to_drift(wires, browser):
    layer = any_layer(schedule="nightly", pull_request=0, state=LayerState.PLANNED)
    layer = replace(layer, job=f"{layer.id}-speculate-1")
    wires.speculative_plans.create([layer])
    wires.jobs.create(any_job(JobKind.SPECULATE, id=layer.job, deployment=layer.id))
    page = browser.get(f"/jobs/{layer.job}")
    assert "by the schedule nightly" in page.text
    assert "/pulls/" not in page.body


ASKED = {"repository": REPOSITORY, "schedule": "nightly"}


def test_who_may_write_has_it_looked_for_now(wires, drifted, reviewer):
    answer = reviewer.post_json("/api/v1/drift/look", ASKED)
    assert (answer.status, answer.json["message"]) == (202, "Started the schedule nightly.")
    assert list(wires.drift_runs.started.values()) == [(REPOSITORY, "nightly")]


def test_a_schedule_may_be_called_as_its_file_lets_it(wires, drifted, reviewer):
    longest = "n" * 200
    wires.drifts.save(any_drift(entry=replace(drifted.entry, name=longest)))
    assert reviewer.post_json("/api/v1/drift/look", {**ASKED, "schedule": longest}).status == 202
    assert reviewer.post_json("/api/v1/drift/look", {**ASKED, "schedule": f"{longest}n"}).status == 422


def test_while_it_is_looked_for_nothing_more_is_started(wires, drifted, reviewer):
    wires.drift_runs.start("run-1", REPOSITORY, "nightly")
    wires.drifts.save(replace(drifted, execution="run-1"))
    answer = reviewer.post_json("/api/v1/drift/look", ASKED)
    assert (answer.status, answer.json["error"]["code"]) == (409, "not_possible")


def test_who_may_only_read_is_told_so_and_offered_nothing(wires, drifted, reader):
    for _ in range(2):
        answer = reader.post_json("/api/v1/drift/look", ASKED)
        assert (answer.status, wires.drift_runs.started) == (403, {})
        assert f"reader has no write permission on {REPOSITORY}." in answer.json["error"]["message"]
    assert "Run now" not in Client(wires).sign_in("reader").get("/drift").text


def test_who_may_not_read_sees_no_schedules(drifted, visitor):
    assert visitor.post_json("/api/v1/drift/look", ASKED).status == 404


def test_a_schedule_that_there_is_not_is_answered_with_those_that_there_are(wires, drifted, reviewer):
    answer = reviewer.post_json("/api/v1/drift/look", {**ASKED, "schedule": "weekly"})
    assert (answer.status, answer.json["error"]["code"]) == (404, "unknown_schedule")
    assert "no drift schedule 'weekly'. Its schedules: 'nightly'." in answer.json["error"]["message"]
    wires.drifts.remove(REPOSITORY, "nightly")
    assert "It has no schedules: add one" in reviewer.post_json("/api/v1/drift/look", ASKED).json["error"]["message"]


def test_the_page_has_a_button_for_it_and_says_what_came_of_it(wires, drifted, browser):
    page = browser.get(f"/drift?repository={REPOSITORY}")
    assert "Run now" in page.text
    answer = browser.post_form("/drift/look", csrf=browser.form_token(), **ASKED)
    (execution,) = wires.drift_runs.started
    assert "Drift detection started." not in browser.get(answer.headers["location"]).text
    wires.drifts.save(replace(drifted, execution=execution))
    assert "Drift detection started." in browser.get(answer.headers["location"]).text
    assert "Run now" not in browser.get("/drift").text
    answer = browser.post_form("/drift/look", csrf=browser.form_token(), **ASKED)
    assert "Drift detection was already running." in browser.get(answer.headers["location"]).text
