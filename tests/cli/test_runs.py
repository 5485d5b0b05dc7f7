"""``tidegate runs``, ``show``, ``rerun``, ``cancel`` and ``open``, and words that stand elsewhere."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests.cli.conftest import brief, details, refused, root
from tidegate_cli.main import app

ONE, TWO = "orders-0123456-0a1b2c3d4e5f", "network-0123456-0a1b2c3d4e5f"
PAGE = f"https://tidegate.example.com/deployments/{ONE}"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("tidegate_cli.waiting.SECONDS", 0.01)
    monkeypatch.setattr("tidegate_cli.deploy.ASK_SECONDS", 0.01)


def log(*lines):
    """Return what answers for a log with these lines."""
    page = {"state": "ended", "lines": list(lines), "next": len(lines), "ended": True}
    return lambda asked: page if asked.query["after"] == "0" else page | {"lines": []}


def found(api, *states):
    """Let there be a deployment for each state: of orders, and of network."""
    for name, state in zip((ONE, TWO), states, strict=False):
        api.answers[f"GET /api/v1/deployments/{name}"] = details(id=name, root=name.split("-")[0], state=state)


def test_runs_lists_deployments_with_what_they_deploy(api, tidegate):
    headline = {"title": "Merge #12", "author": "developer", "avatar": "", "pull_request_title": "Grow the queue"}
    one = brief(headline=headline | {"pull_request": 12}, pull_request_reference="#12", state="apply_failed")
    api.answers["GET /api/v1/deployments"] = {"deployments": [one], "next": None}
    shown = tidegate("runs", "acme/live", "orders", "--query", "state:failed", "-n", "5", COLUMNS="200")
    assert shown.exit_code == 0
    for text in ("✘ apply failed", ONE, "0123456", "#12", "Grow the queue", "developer"):
        assert text in shown.stdout
    (asked,) = api.asked
    assert asked.query == {"repository": "acme/live", "root": "orders", "query": "state:failed", "limit": "5"}


HEADLINE = {
    "title": "Merge #12",
    "author": "developer",
    "avatar": "",
    "pull_request": 12,
    "pull_request_title": "Grow it",
}


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.parametrize(("trigger", "by"), [("merge", "developer"), ("manual", "operator")])
def test_a_merge_is_of_its_author_and_what_somebody_asked_for_is_theirs(api, tidegate, columns, trigger, by):
    one = brief(headline=HEADLINE, pull_request_reference="#12", trigger=trigger, requested_by="operator")
    api.answers["GET /api/v1/deployments"] = {"deployments": [one], "next": None}
    shown = " ".join(tidegate("runs", "acme/live", COLUMNS=columns).stdout.split())
    assert f"0123456 #12 Grow it {by}" in shown


def test_a_deployment_is_shown_with_its_title_and_author(api, tidegate):
    api.answers[f"GET /api/v1/deployments/{ONE}"] = details(
        headline=HEADLINE, pull_request_reference="#12", requested_by="operator"
    )
    shown = tidegate("status", ONE).stdout
    for text in ("Grow it", "developer", "#12"):
        assert text in shown


def test_runs_of_all_repositories_name_them_and_keep_ids_whole_in_80_columns(api, tidegate):
    api.answers["GET /api/v1/deployments"] = {"deployments": [brief()], "next": None}
    shown = tidegate("runs").stdout
    assert "acme/live" in shown
    assert ONE in shown
    assert json.loads(tidegate("runs", "--json").stdout)["deployments"][0]["id"] == ONE


def test_runs_of_a_root_that_there_is_not_name_the_one_that_was_meant(api, tidegate):
    api.answers |= {
        "GET /api/v1/deployments": {"deployments": [], "next": None},
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}]},
        "GET /api/v1/repositories/acme/live/roots": {"repository": "acme/live", "roots": [root()]},
    }
    missing = tidegate("runs", "acme/live", "oders")
    assert missing.exit_code == 3
    assert "Did you mean orders?" in missing.stderr


def test_show_prints_the_deployment_with_its_plan_and_no_more_of_the_log(api, tidegate):
    found(api, "awaiting_review")
    api.answers[f"GET /api/v1/jobs/{ONE}-plan-1/log"] = log(
        "tidegate: cloning acme/live",
        "Terraform will perform the following actions:",
        "  + a_queue.orders",
        "─" * 30,
        "x",
    )
    shown = tidegate("show", ONE).stdout
    assert "+ a_queue.orders" in shown
    assert "waiting for review" in shown
    assert "cloning" not in shown
    assert json.loads(tidegate("show", ONE, "--json").stdout)["plan"].splitlines()[-1] == "  + a_queue.orders"


def test_show_prints_what_a_plan_that_failed_has_said(api, tidegate):
    found(api, "plan_failed")
    api.answers[f"GET /api/v1/jobs/{ONE}-plan-1/log"] = log("tidegate: cloning acme/live", "Error: no such thing")
    assert "Error: no such thing" in tidegate("show", ONE).stdout


def test_show_says_that_there_is_no_plan_yet(api, tidegate):
    api.answers[f"GET /api/v1/deployments/{ONE}"] = details(state="queued", jobs=[])
    assert "it is queued" in tidegate("show", ONE).stdout


def test_a_failed_deployment_is_run_again_and_awaited(api, tidegate):
    found(api, "apply_failed", "applied")
    api.answers |= {
        f"POST /api/v1/deployments/{ONE}/rerun": (202, {"request": "r-1"}),
        "GET /api/v1/requests/r-1": {"request": "r-1", "outcome": "orders: enqueued", "deployments": [brief(id=TWO)]},
    }
    result = tidegate("rerun", ONE, "--wait", "--json")
    assert result.exit_code == 0
    (again,) = json.loads(result.stdout)["results"][0]["deployments"]
    assert (again["id"], again["state"]) == (TWO, "applied")


def test_what_is_not_run_again_says_why_and_fails(api, tidegate):
    found(api, "applied")
    api.answers |= {
        f"POST /api/v1/deployments/{ONE}/rerun": (202, {"request": "r-1"}),
        "GET /api/v1/requests/r-1": {"request": "r-1", "outcome": "orders: It succeeded.", "deployments": []},
    }
    result = tidegate("rerun", ONE)
    assert result.exit_code == 1
    assert "It succeeded." in result.stderr


def test_of_several_that_are_cancelled_a_refusal_stops_none_of_the_others(api, tidegate):
    found(api, "applied", "planning")
    api.answers |= {
        f"POST /api/v1/deployments/{ONE}/cancel": refused(409, "refused", "It has ended."),
        f"POST /api/v1/deployments/{TWO}/cancel": {"message": "Cancelled.", "deployment": brief(state="cancelled")},
    }
    result = tidegate("cancel", ONE, TWO)
    assert result.exit_code == 1
    assert "It has ended." in result.stdout
    assert "Cancelled." in result.stdout
    documents = json.loads(tidegate("cancel", ONE, TWO, "--json").stdout)["results"]
    assert [sorted(each) for each in documents] == [["deployment", "error"], ["deployment", "message"]]


def test_none_is_cancelled_where_one_of_several_is_unknown(api, tidegate):
    found(api, "planning")
    api.answers["GET /api/v1/repositories"] = {"repositories": []}
    assert tidegate("cancel", ONE, "nothing-like-it").exit_code == 3
    assert api.bodies(f"POST /api/v1/deployments/{ONE}/cancel") == []


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ([ONE], PAGE),
        (["c-1"], "https://tidegate.example.com/changes/c-1"),
        (["acme/live"], "https://tidegate.example.com/repositories/acme/live"),
        (["acme/live", "#5"], "https://tidegate.example.com/pulls/acme/live/5"),
        (["acme/live", "orders"], "https://tidegate.example.com/queue"),
    ],
)
def test_open_prints_the_address_of_the_page(api, tidegate, words, page):
    found(api, "applied")
    api.answers |= {
        "GET /api/v1/changes/c-1": {"id": "c-1", "url": "https://tidegate.example.com/changes/c-1"},
        "GET /api/v1/repositories": {
            "repositories": [{"name": "acme/live", "url": "https://tidegate.example.com/repositories/acme/live"}]
        },
        "GET /api/v1/repositories/acme/live/roots": {"repository": "acme/live", "roots": [root()]},
        "GET /api/v1/pulls/acme/live/5": {"number": 5, "url": "https://tidegate.example.com/pulls/acme/live/5"},
    }
    assert tidegate("open", *words).stdout == f"{page}\n"


@pytest.mark.parametrize(("has_browser", "said"), [(True, ""), (False, "There is no browser here")])
def test_open_opens_a_browser_on_a_terminal(api, tidegate, monkeypatch, has_browser, said):
    found(api, "applied")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or has_browser)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    result = tidegate("open", ONE)
    assert opened == [PAGE]
    assert said in result.stderr
    assert PAGE in result.stdout


def test_open_of_what_is_not_there_names_what_was_meant(api, tidegate):
    api.answers |= {
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}]},
        "GET /api/v1/repositories/acme/live/roots": {"repository": "acme/live", "roots": [root()]},
    }
    assert "Did you mean acme/live?" in tidegate("open", "acme/life").stderr
    assert "Did you mean orders?" in tidegate("open", "acme/live", "oders").stderr
    assert tidegate("open", "acme/live", "7").exit_code == 3


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("plan", "tidegate plan"),
        ("apply", "tidegate deploy REPOSITORY ROOT"),
        ("up", "tidegate local up"),
        ("discard", "tidegate reject"),
        ("help", "tidegate --help"),
    ],
)
def test_a_word_that_stands_elsewhere_is_told_where(word, place):
    result = CliRunner().invoke(app, [word], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert f"`{place}`" in result.output
