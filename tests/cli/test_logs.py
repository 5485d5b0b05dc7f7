"""``tidegate logs``: lines as they come, the job's end as the exit code, nothing hostile for the terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.cli.conftest import TOKEN, details

TOP = Path(__file__).parents[2]
ID = "orders-0123456-0a1b2c3d4e5f"
PLAN, APPLY = f"{ID}-plan-1", f"{ID}-apply-1"
JOBS = [{"id": PLAN, "kind": "plan"}, {"id": APPLY, "kind": "apply"}]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("tidegate_cli.logs.POLL_SECONDS", 0.01)


def log(*lines, state="ended"):
    """Return what answers for a log with these lines, two at a time."""

    def answer(asked):
        after = int(asked.query["after"])
        page = list(lines[after : after + 2])
        return {
            "state": state,
            "lines": page,
            "next": after + len(page),
            "ended": state in {"ended", "lost"} and after + len(page) >= len(lines),
        }

    return answer


def with_job(api, job=PLAN, state="awaiting_review", **fields):
    api.answers[f"GET /api/v1/deployments/{ID}"] = details(state=state, **fields)
    api.answers[f"GET /api/v1/jobs/{job}"] = {"id": job, "deployment": ID, "kind": "plan", "state": "ended"}


def test_a_log_is_printed_to_its_end(api, tidegate):
    with_job(api)
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("one", "two", "three")
    result = tidegate("logs", PLAN)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["one", "two", "three"]


def test_a_log_that_is_still_written_is_printed_as_far_as_it_is(api, tidegate):
    with_job(api, state="planning")
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("one", "two", "three", state="running")
    assert tidegate("logs", PLAN).stdout.splitlines() == ["one", "two", "three"]


def test_of_a_deployment_the_newest_job_is_shown_or_the_one_asked_for(api, tidegate):
    with_job(api, state="applied", jobs=JOBS)
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("planned")
    api.answers[f"GET /api/v1/jobs/{APPLY}/log"] = log("applied")
    assert tidegate("logs", ID).stdout == "applied\n"
    assert tidegate("logs", ID, "--job", "plan").stdout == "planned\n"


def test_a_deployment_without_a_job_says_so(api, tidegate):
    with_job(api, state="refused", jobs=[], reason="It is behind.")
    result = tidegate("logs", ID, "--follow")
    assert result.exit_code == 1
    assert "It is behind." in result.stderr


def test_following_waits_for_the_job_and_for_its_lines(api, tidegate):
    waiting = {"state": "waiting", "lines": [], "next": 0, "ended": False}
    running = {"state": "running", "lines": ["one"], "next": 1, "ended": False}
    ended = {"state": "ended", "lines": ["two"], "next": 2, "ended": True}
    api.answers[f"GET /api/v1/deployments/{ID}"] = [
        details(state="queued", jobs=[], changes=None),
        details(state="planning", changes=None),
        details(state="planning", changes=None),
        details(state="awaiting_review"),
    ]
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = [waiting, running, running | {"lines": []}, ended]
    result = tidegate("logs", ID, "--follow")
    assert result.stdout.splitlines() == ["one", "two"]
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("job", "fields", "code"),
    [
        (PLAN, {"state": "plan_failed", "changes": None}, 1),
        (PLAN, {"state": "rejected"}, 0),
        (PLAN, {"state": "applied", "jobs": [{"id": PLAN, "kind": "plan"}, {"id": f"{ID}-plan-2", "kind": "plan"}]}, 1),
        (APPLY, {"state": "applied", "jobs": JOBS}, 0),
        (APPLY, {"state": "apply_failed", "jobs": JOBS}, 1),
        (APPLY, {"state": "outcome_unknown", "jobs": JOBS}, 1),
    ],
)
def test_following_exits_as_the_job_ended(api, tidegate, job, fields, code):
    with_job(api, job, **fields)
    api.answers[f"GET /api/v1/jobs/{job}/log"] = log("a line")
    assert tidegate("logs", job, "--follow").exit_code == code


def test_json_is_one_object_for_each_line(api, tidegate):
    with_job(api)
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("one", "\x1b[31mred\x1b[0m")
    lines = [json.loads(line) for line in tidegate("logs", PLAN, "--follow", "--json").stdout.splitlines()]
    assert lines[:2] == [
        {"job": PLAN, "number": 0, "line": "one"},
        {"job": PLAN, "number": 1, "line": "\x1b[31mred\x1b[0m"},
    ]
    assert lines[2] == {"job": PLAN, "ended": True, "succeeded": True, "state": "awaiting_review"}


def test_a_pipe_gets_no_colours_and_no_control_characters(api, tidegate):
    with_job(api)
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("\x1b[32m+ new\x1b[0m\x1b[2J\x07\rover\tthere")
    shown = tidegate("logs", PLAN).stdout
    assert shown == "+ new\u241b[2J\u2407\u240dover\tthere\n"


def test_an_unknown_job_is_not_found(api, tidegate):
    assert tidegate("logs", PLAN).exit_code == 3


def test_the_end_of_a_lost_log_is_told(api, tidegate):
    with_job(api, state="plan_failed", changes=None)
    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = log("one", state="lost")
    assert "end of this log is missing" in tidegate("logs", PLAN).stderr


@pytest.fixture
def follower(api):
    """Start ``tidegate logs --follow`` as a process of its own; end it."""
    environment = {**os.environ, "TIDEGATE_URL": api.url, "TIDEGATE_TOKEN": TOKEN}
    # A shell that started the tests in the background has them, and all that they start, ignore Ctrl-C.
    heeding = ["env", "--default-signal=INT"]
    command = [*heeding, sys.executable, "-m", "tidegate_cli.main", "logs", PLAN, "--follow"]
    process = subprocess.Popen(
        command, cwd=TOP, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    yield process
    process.kill()
    process.communicate()


def test_a_new_line_is_seen_within_a_second_and_ctrl_c_exits_130(api, follower):
    with_job(api, state="planning", changes=None)
    lines, took = [], []
    ready = threading.Event()

    def answer(asked):
        ready.set()
        after = int(asked.query["after"])
        return {"state": "running", "lines": lines[after:], "next": len(lines), "ended": False}

    api.answers[f"GET /api/v1/jobs/{PLAN}/log"] = answer
    assert ready.wait(120)
    for number in range(3):
        written = time.monotonic()
        lines.append(f"line {number}")
        assert follower.stdout.readline() == f"line {number}\n"
        took.append(time.monotonic() - written)
    assert min(took) < 1  # A busy machine holds some up.
    follower.send_signal(signal.SIGINT)
    assert follower.wait(60) == 130
    assert "Traceback" not in follower.stderr.read()


def test_the_log_of_a_pull_requests_plan_is_followed_without_asking_for_a_deployment(api, tidegate):
    job = f"{ID}-speculate-1"
    api.answers[f"GET /api/v1/jobs/{job}/log"] = log("Refreshing", "Plan: 1 to add")
    result = tidegate("logs", job, "--follow")
    assert (result.exit_code, result.stdout.splitlines()) == (0, ["Refreshing", "Plan: 1 to add"])
    assert {asked.path for asked in api.asked} == {f"/api/v1/jobs/{job}/log"}
