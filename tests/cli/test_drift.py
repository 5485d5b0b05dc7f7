"""``tidegate drift``: what people and scripts see of drift."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import NOW, SHA, refused

DRIFTED = {
    "root": "network",
    "stack": "prod",
    "state": "drifted",
    "drifted_since": NOW,
    "changes": {"change": 1},
    "deployment": "network-1",
    "job": {"id": "j", "kind": "speculate", "attempt": 1, "url": "https://tidegate.example/jobs/j"},
}
SCHEDULE = {
    "repository": "acme/live",
    "schedule": "nightly",
    "when": "daily at 02:17 UTC",
    "looked_at": NOW,
    "revision": SHA,
    "headline": {"title": "Grow it", "author": "", "avatar": "", "pull_request": None, "pull_request_title": ""},
    "notice": "app: [red]no stack",
    "roots": [
        {"root": "db", "state": "failed", "reason": "It says why."},
        DRIFTED,
        {"root": "web", "state": "skipped", "reason": "A deployment of it waits."},
        {"root": "app", "state": "none"},
        {"root": "new", "state": "unheard of"},
    ],
    "issue_url": "https://forge.example/acme/live/issues/7",
}


def test_what_was_found_is_shown_by_schedule(api, tidegate):
    api.answers["GET /api/v1/drift"] = {"schedules": [SCHEDULE]}
    shown = tidegate("drift", "acme/live").stdout
    assert "acme/live  nightly  daily at 02:17 UTC" in shown
    assert f"at {SHA[:7]} (Grow it)." in shown
    assert "app: [red]no stack" in shown
    assert "db  the plan failed" in shown
    assert "It says why." in shown
    assert "network (prod)  drifted, since " in shown
    assert "1 to change" in shown
    assert "tidegate status network-1" in shown
    assert "https://tidegate.example/jobs/j" in shown
    assert "web  not checked" in shown
    assert "app  no drift" in shown
    assert "new  unheard of" in shown
    assert "https://forge.example/acme/live/issues/7" in shown
    assert api.asked[-1].query == {"repository": "acme/live"}


def test_a_schedule_that_has_not_run_says_so_and_one_that_runs_too(api, tidegate):
    first = {"repository": "acme/live", "schedule": "nightly", "problem": "There is no such time zone."}
    running = {**SCHEDULE, "running": True, "roots": [], "revision": None}
    api.answers["GET /api/v1/drift"] = {"schedules": [first, running]}
    shown = tidegate("drift").stdout
    assert "No run yet." in shown
    assert "There is no such time zone." in shown
    assert "A run is in progress. Last run " in shown


def test_without_schedules_it_says_where_to_name_one(api, tidegate):
    api.answers["GET /api/v1/drift"] = {"schedules": []}
    assert "Add one under drift in tidegate.yaml" in tidegate("drift").stdout


def test_programs_get_all_of_it(api, tidegate):
    api.answers["GET /api/v1/drift"] = {"schedules": [SCHEDULE]}
    (one,) = json.loads(tidegate("drift", "--json").stdout)["schedules"]
    assert one["roots"][1]["deployment"] == "network-1"


def test_a_repository_that_one_may_not_read_is_not_found(api, tidegate):
    result = tidegate("drift", "acme/none")
    assert result.exit_code == 3


def test_what_became_of_a_deployment_that_undoes_drift_is_told(api, tidegate):
    undone = {**DRIFTED, "undoing": "undone"}
    absent = {**DRIFTED, "root": "db", "deployment": None, "undoing": "absent"}
    api.answers["GET /api/v1/drift"] = {"schedules": [{**SCHEDULE, "roots": [undone, absent]}]}
    shown = tidegate("drift").stdout
    assert "network (prod)  undone" in shown
    assert "is not queued yet, or it was refused." in shown


def test_a_schedule_can_be_told_to_look_now(api, tidegate):
    api.answers["POST /api/v1/drift/look"] = {"message": "Started the schedule nightly."}
    api.answers["GET /api/v1/drift"] = {"schedules": [SCHEDULE]}
    shown = tidegate("drift", "acme/live", "--detect", "nightly").stdout
    assert shown.startswith("Started the schedule nightly.")
    assert "→ tidegate drift acme/live  shows the result" in shown
    assert shown.index("The result of the previous run") < shown.index("acme/live  nightly")


LATER = "2026-03-02T10:00:00.000000+00:00"


@pytest.fixture
def looking(api, monkeypatch):
    """A schedule that is told to look, begins, runs, and finds that nothing has drifted."""
    monkeypatch.setattr("tidegate_cli.waiting.SECONDS", 0.01)
    ended = {**SCHEDULE, "looked_at": LATER, "roots": [{"root": "app", "state": "none"}]}
    runs = [SCHEDULE, SCHEDULE, {**SCHEDULE, "running": True}, {**ended, "running": True}, ended]
    api.answers["POST /api/v1/drift/look"] = {"message": "Started the schedule nightly."}
    api.answers["GET /api/v1/drift"] = [{"schedules": [each]} for each in runs]
    return api


def test_who_waits_sees_what_the_run_found_that_was_asked_for(looking, tidegate):
    shown = tidegate("drift", "acme/live", "--detect", "nightly", "--wait").stdout
    assert "Started the schedule nightly." in shown
    assert "app  no drift" in shown
    assert "db  the plan failed" not in shown
    assert "Running since" not in shown


def test_a_program_that_waits_gets_one_document(looking, tidegate):
    result = tidegate("drift", "acme/live", "--detect", "nightly", "--wait", "--json")
    assert json.loads(result.stdout)["schedules"][0]["looked_at"] == LATER
    assert "Started the schedule" in result.stderr


def test_the_first_run_of_a_schedule_is_waited_for_as_well(looking, tidegate):
    looking.answers["GET /api/v1/drift"][0:2] = [{"schedules": []}, {"schedules": [{**SCHEDULE, "looked_at": None}]}]
    shown = tidegate("drift", "acme/live", "--detect", "nightly", "--wait").stdout
    assert "app  no drift" in shown
    assert "db  the plan failed" not in shown


def test_waiting_for_a_run_survives_a_server_that_is_away_for_a_moment(looking, tidegate, monkeypatch):
    monkeypatch.setattr("tidegate_cli.api_client.PAUSES", (0.0,))
    looking.answers["GET /api/v1/drift"][2:2] = [refused(503, "unavailable", "Not now.")] * 6
    result = tidegate("drift", "acme/live", "--detect", "nightly", "--wait")
    assert result.exit_code == 0
    assert "app  no drift" in result.stdout


def test_a_run_that_never_begins_is_not_waited_for(looking, tidegate, monkeypatch):
    monkeypatch.setattr("tidegate_cli.waiting.BEGIN_SECONDS", 0.0)
    looking.answers["GET /api/v1/drift"] = {"schedules": [SCHEDULE]}
    result = tidegate("drift", "acme/live", "--detect", "nightly", "--wait")
    assert result.exit_code == 6
    assert "has not started" in result.output
    assert "→ tidegate drift acme/live" in result.output


def test_only_a_run_that_was_asked_for_is_waited_for(api, tidegate):
    assert tidegate("drift", "acme/live", "--wait").exit_code == 2
    assert api.asked == []


def test_a_schedule_is_told_by_its_repository(tidegate):
    result = tidegate("drift", "--detect", "nightly")
    assert result.exit_code == 2
    assert "tidegate drift OWNER/NAME" in result.output
