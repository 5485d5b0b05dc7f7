"""``tidegate deploy``, ``approve``, ``reject`` and ``unlock``: what is asked for, what is said, how they exit."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import LOCK, brief, details, refused, root

ID = "orders-0123456-0a1b2c3d4e5f"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr("tidegate_cli.waiting.SECONDS", 0.01)
    monkeypatch.setattr("tidegate_cli.deploy.ASK_SECONDS", 0.01)


def accepted(api, *deployments, outcome="1 deployment was queued."):
    api.answers |= {
        "POST /api/v1/deployments": (202, {"request": "r-1"}),
        "GET /api/v1/requests/r-1": [
            {"request": "r-1", "outcome": None, "deployments": []},
            {"request": "r-1", "outcome": outcome, "deployments": list(deployments)},
        ],
    }


def in_turn(api, *states):
    api.answers[f"GET /api/v1/deployments/{ID}"] = [details(state=state) for state in states]


def test_a_deploy_asks_for_the_roots_once_each_and_shows_what_was_made(api, tidegate):
    accepted(api, brief(state="queued", trigger="manual"))
    in_turn(api, "queued")
    result = tidegate("deploy", "acme/live", "orders", "network", "orders")
    assert result.exit_code == 0
    assert api.bodies("POST /api/v1/deployments") == [{"repository": "acme/live", "roots": ["orders", "network"]}]
    for text in (
        "1 deployment was queued.",
        ID,
        "https://forge.example.com/acme/live/runs/7",
        "tidegate queue acme/live",
        "Merges wait until you unlock",
        "tidegate unlock acme/live orders",
    ):
        assert text in result.stdout


def test_a_deploy_may_name_directories_and_a_query(api, tidegate):
    accepted(api)
    tidegate("deploy", "acme/live", "-d", "live/prod", "--query", "stack_name:prod")
    (body,) = api.bodies("POST /api/v1/deployments")
    assert body == {"repository": "acme/live", "directories": ["live/prod"], "query": "stack_name:prod"}
    assert tidegate("deploy", "acme/live").exit_code == 2


def test_a_deploy_is_asked_for_once_more_by_force(api, tidegate):
    accepted(api, brief(state="queued", trigger="manual"))
    in_turn(api, "queued")
    assert tidegate("deploy", "acme/live", "orders", "--force").exit_code == 0
    assert api.bodies("POST /api/v1/deployments") == [{"repository": "acme/live", "roots": ["orders"], "force": True}]


@pytest.mark.parametrize("destroy", [True, False])
def test_a_deploy_says_that_it_locks_the_queue_and_a_destruction_does_not(api, tidegate, destroy):
    accepted(api, brief(state="queued", trigger="manual", destroy=destroy))
    in_turn(api, "queued")
    assert ("merges wait" in tidegate("deploy", "acme/live", "orders").stdout) is not destroy


def test_a_deploy_that_makes_nothing_says_why_and_fails(api, tidegate):
    accepted(api, outcome="The default branch has no root orders.")
    result = tidegate("deploy", "acme/live", "orders")
    assert result.exit_code == 1
    assert "has no root orders" in result.stdout


@pytest.mark.parametrize(("end", "code"), [("applied", 0), ("no_changes", 0), ("apply_failed", 1), ("rejected", 1)])
def test_a_deploy_that_waits_ends_as_its_deployments_do(api, tidegate, end, code):
    accepted(api, brief(state="queued"))
    in_turn(api, "queued", "planning", "awaiting_review", "applying", end)
    result = tidegate("deploy", "acme/live", "orders", "--wait")
    assert result.exit_code == code
    assert f"tidegate approve {ID}" in result.stdout
    assert result.stdout.index("planning") < result.stdout.index("waiting for review") < result.stdout.index("applying")


def test_a_deploy_waits_no_longer_than_it_is_told(api, tidegate):
    accepted(api, brief(state="queued"))
    in_turn(api, "planning")
    result = tidegate("deploy", "acme/live", "orders", "--wait", "--timeout", "0")
    assert result.exit_code == 6
    assert "They continue" in result.stderr


def test_waiting_survives_a_server_that_is_away_for_a_moment(api, tidegate, monkeypatch):
    monkeypatch.setattr("tidegate_cli.api_client.PAUSES", (0.0,))
    accepted(api, brief(state="queued"))
    away = refused(503, "unavailable", "Not now.")
    api.answers[f"GET /api/v1/deployments/{ID}"] = [details(state="planning"), *[away] * 6, details(state="applied")]
    assert tidegate("deploy", "acme/live", "orders", "--wait").exit_code == 0


def test_a_deploy_as_json_is_one_document_with_the_states_at_the_end(api, tidegate):
    accepted(api, brief(state="queued"))
    in_turn(api, "queued", "applied")
    document = json.loads(tidegate("deploy", "acme/live", "orders", "--wait", "--json").stdout)
    assert document["request"] == "r-1"
    assert document["outcome"] == "1 deployment was queued."
    assert [item["state"] for item in document["deployments"]] == ["applied"]


def test_a_deploy_without_the_right_says_which_one(api, tidegate):
    api.answers["POST /api/v1/deployments"] = refused(
        403, "not_permitted", "That is for members of the team acme/operators."
    )
    result = tidegate("deploy", "acme/live", "orders")
    assert result.exit_code == 4
    assert "acme/operators" in result.stderr


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_an_answer_to_a_review_is_sent_and_its_effect_is_shown(api, tidegate, decision):
    in_turn(api, "awaiting_review")
    after = brief(state="approved" if decision == "approve" else "rejected")
    api.answers[f"POST /api/v1/deployments/{ID}/review"] = {"message": "So be it.", "deployment": after}
    result = tidegate(decision, ID)
    assert result.exit_code == 0
    seen = {"plan_digest": details()["plan_digest"]} if decision == "approve" else {}
    assert api.bodies(f"POST /api/v1/deployments/{ID}/review") == [{"decision": decision, **seen}]
    assert "So be it." in result.stdout
    assert after["state"] in result.stdout


def test_an_answer_that_comes_too_late_is_refused_with_the_reason(api, tidegate):
    in_turn(api, "rejected")
    api.answers[f"POST /api/v1/deployments/{ID}/review"] = refused(
        409, "conflict", "reviewer rejected this plan before."
    )
    result = tidegate("approve", ID)
    assert result.exit_code == 1
    assert "reviewer rejected this plan before." in result.stderr


def test_an_approval_can_wait_for_the_apply(api, tidegate):
    in_turn(api, "awaiting_review", "approved", "applying", "apply_failed")
    api.answers[f"POST /api/v1/deployments/{ID}/review"] = {
        "message": "Approved.",
        "deployment": brief(state="approved"),
    }
    result = tidegate("approve", ID, "--wait", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["deployment"]["state"] == "apply_failed"


def test_who_approves_a_plan_that_policies_block_sees_that_they_do(api, tidegate):
    said = "Policy set costs (user:ann can approve it): too dear."
    api.answers[f"GET /api/v1/deployments/{ID}"] = details(state="awaiting_review", policies_refuse=[said])
    api.answers[f"POST /api/v1/deployments/{ID}/review"] = {"message": "Done.", "deployment": brief()}
    assert f"! {said}" in tidegate("approve", ID).stdout
    assert said not in tidegate("reject", ID).stdout


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"state": "applied"}, 0),
        ({"state": "awaiting_review"}, 2),
        ({"state": "applied", "root": "orders-eu"}, 2),
    ],
)
def test_of_several_deployments_of_a_root_the_one_that_waits_for_an_answer_is_meant(api, tidegate, other, code):
    listed = [brief(), brief(id="orders-9999999-x", **other)]
    api.answers |= {
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}]},
        "GET /api/v1/deployments": {"deployments": listed, "next": None},
        f"GET /api/v1/deployments/{ID}": details(),
        f"POST /api/v1/deployments/{ID}/review": {"message": "Done.", "deployment": brief(state="approved")},
    }
    for decision in ("approve", "confirm", "reject"):
        assert tidegate(decision, "orders").exit_code == code
    assert tidegate("cancel", "orders").exit_code == 2


@pytest.mark.parametrize(("was_locked", "said"), [(True, "Unlocked"), (False, "It was not locked")])
def test_unlock_says_whether_there_was_a_lock(api, tidegate, was_locked, said):
    api.answers["POST /api/v1/queue/unlock"] = {"unlocked": was_locked, "message": ""}
    api.answers["GET /api/v1/repositories/acme/live/roots"] = {"repository": "acme/live", "roots": [root()]}
    result = tidegate("unlock", "acme/live", "orders")
    assert result.exit_code == 0
    assert said in result.stdout
    assert api.bodies("POST /api/v1/queue/unlock") == [{"repository": "acme/live", "root": "orders"}]


@pytest.mark.parametrize(("scope", "how"), [("prod", "--stack prod"), ("*", "--all")])
def test_what_a_lock_of_more_than_one_root_holds_back_is_not_unlocked_and_the_command_is_told(
    api, tidegate, scope, how
):
    lock = {**LOCK, "scope": scope}
    api.answers["POST /api/v1/queue/unlock"] = {"unlocked": False, "message": "Not this queue."}
    api.answers["GET /api/v1/queue"] = {"repository": "acme/live", "root": "orders", "lock": lock}
    api.answers["GET /api/v1/repositories"] = {"repositories": [{"name": "acme/live"}]}
    api.answers["GET /api/v1/repositories/acme/live/roots"] = {"repository": "acme/live", "roots": [root()]}
    result = tidegate("unlock", "acme/live", "orders")
    assert (result.exit_code, "Not this queue." in result.stderr) == (1, True)
    assert f"tidegate unlock acme/live {how}" in result.stderr


def test_lock_gives_the_reason_and_says_what_came_of_it(api, tidegate):
    api.answers["POST /api/v1/queue/lock"] = {"message": "reviewer locked the queue."}
    words = ("lock", "acme/live", "orders", "--reason", "a freeze")
    assert "acme/live · orders: reviewer locked the queue." in tidegate(*words).stdout
    document = json.loads(tidegate(*words, "--json").stdout)
    assert document == {"repository": "acme/live", "root": "orders", "message": "reviewer locked the queue."}
    asked = {"repository": "acme/live", "root": "orders", "reason": "a freeze"}
    assert api.bodies("POST /api/v1/queue/lock") == [asked, asked]


@pytest.mark.parametrize(("name", "code", "said"), [("orders", 1, "locked already"), ("oders", 3, "has no root oders")])
def test_a_lock_that_is_refused_exits_with_why(api, tidegate, name, code, said):
    api.answers["POST /api/v1/queue/lock"] = refused(409, "conflict", "It is locked already.")
    api.answers["GET /api/v1/repositories/acme/live/roots"] = {"repository": "acme/live", "roots": [root()]}
    result = tidegate("lock", "acme/live", name)
    assert result.exit_code == code
    assert said in result.stderr


@pytest.mark.parametrize(("what", "stack"), [(("--stack", "prod"), "prod"), (("--all",), "")])
def test_a_stack_or_all_roots_are_locked_for_a_time_and_unlocked(api, tidegate, what, stack):
    api.answers["POST /api/v1/locks"] = {"message": "reviewer locked it."}
    assert "acme/live: reviewer locked it." in tidegate("lock", "acme/live", *what, "--for", "2h").stdout
    asked = {"repository": "acme/live", "stack": stack}
    assert api.bodies("POST /api/v1/locks") == [{**asked, "reason": "", "duration": "2h"}]
    api.answers["POST /api/v1/locks/remove"] = {"unlocked": True, "message": "Done."}
    document = json.loads(tidegate("unlock", "acme/live", *what, "--json").stdout)
    assert document == {"repository": "acme/live", "stack": stack or None, "unlocked": True, "message": "Done."}
    assert api.bodies("POST /api/v1/locks/remove") == [asked]


def test_one_root_is_locked_for_a_time(api, tidegate):
    api.answers["POST /api/v1/queue/lock"] = {"message": "The lock."}
    tidegate("lock", "acme/live", "orders", "--for", "90m")
    assert [each["duration"] for each in api.bodies("POST /api/v1/queue/lock")] == ["90m"]


@pytest.mark.parametrize("words", [(), ("orders", "--all"), ("--all", "--stack", "prod")])
@pytest.mark.parametrize("verb", ["lock", "unlock"])
def test_a_lock_is_about_one_thing(tidegate, verb, words):
    assert tidegate(verb, "acme/live", *words).exit_code == 2


def test_unlock_as_json(api, tidegate):
    api.answers["POST /api/v1/queue/unlock"] = {"unlocked": True, "message": "Done."}
    document = json.loads(tidegate("unlock", "acme/live", "orders", "--json").stdout)
    assert document == {"repository": "acme/live", "root": "orders", "unlocked": True, "message": "Done."}


def test_a_mistyped_root_of_a_deploy_is_answered_with_the_known_ones(api, tidegate):
    api.answers |= {
        "POST /api/v1/deployments": refused(404, "not_found", "No such thing."),
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live", "default_branch": "main", "url": ""}]},
        "GET /api/v1/repositories/acme/live/roots": {
            "repository": "acme/live",
            "roots": [root(), root(name="network")],
        },
    }
    result = tidegate("deploy", "acme/live", "zebra")
    assert result.exit_code == 3
    assert "Known roots: orders, network." in result.stderr


@pytest.mark.parametrize("words", [["deploy", "acme/live", "orders"], ["approve", "orders-0123456-0a1b2c3d4e5f"]])
def test_a_time_limit_of_nothing_is_refused_before_anything_is_asked(api, tidegate, words):
    result = tidegate(*words, "--timeout", "5")
    assert result.exit_code == 2
    assert "Add --wait" in result.output
    assert api.asked == []


def test_a_root_that_the_repositorys_files_do_not_have_is_not_found(api, tidegate):
    outcome = "There is no root 'oders'. Did you mean 'orders'? No deployment was queued."
    api.answers |= {
        "POST /api/v1/deployments": (202, {"request": "r-1"}),
        "GET /api/v1/requests/r-1": {"request": "r-1", "outcome": outcome, "deployments": []},
    }
    result = tidegate("deploy", "acme/live", "oders")
    assert result.exit_code == 3
    assert "There is no root 'oders'." in result.output
    assert result.output.count("Did you mean") == 1


def test_where_the_files_have_nothing_alike_the_known_roots_are_named(api, tidegate):
    api.answers |= {
        "POST /api/v1/deployments": (202, {"request": "r-1"}),
        "GET /api/v1/requests/r-1": {"request": "r-1", "outcome": "There is no root 'xyz'. No deployment was queued."},
        "GET /api/v1/repositories": {"repositories": [{"name": "acme/live"}]},
        "GET /api/v1/repositories/acme/live/roots": {"repository": "acme/live", "roots": [root(name="orders")]},
    }
    result = tidegate("deploy", "acme/live", "xyz")
    assert result.exit_code == 3
    assert "→ Known roots: orders." in result.output


def waiting(api, state):
    one = {"state": state, "change_set": "c-1"}
    api.answers[f"GET /api/v1/deployments/{ID}"] = details(**one)
    api.answers[f"POST /api/v1/deployments/{ID}/gate"] = {"message": "Done.", "deployment": brief(**one)}


@pytest.mark.parametrize(("decision", "state"), [("retry", "blocked"), ("reject", "blocked"), ("reject", "gated")])
def test_who_waits_for_others_is_answered_at_its_gate(api, tidegate, decision, state):
    waiting(api, state)
    result = tidegate(decision, ID)
    assert (result.exit_code, api.bodies(f"POST /api/v1/deployments/{ID}/gate")) == (0, [{"decision": decision}])
    assert "Done." in result.stdout


def test_several_are_retried_and_a_refusal_of_one_stops_none(api, tidegate):
    waiting(api, "blocked")
    result = tidegate("retry", ID, "nothing-like-it")
    assert result.exit_code == 1
    assert api.bodies(f"POST /api/v1/deployments/{ID}/gate") == [{"decision": "retry"}]
    assert "✘ nothing-like-it" in result.stdout


def test_what_waits_for_its_requirements_is_shown_with_them_approved_rejected_and_overridden(api, tidegate):
    lacking = {
        "missing": ["2 approvals are required."],
        "approved_here": [{"by": "ann", "at": "2026-03-02T09:00:00.000000+00:00"}],
    }
    waiting(api, "awaiting_requirements")
    api.answers[f"GET /api/v1/deployments/{ID}"] |= {"requirements": lacking}
    shown = tidegate("status", ID).stdout
    assert "2 approvals are required." in shown
    assert f"tidegate override {ID} --reason" in shown
    assert [tidegate(verb, ID).exit_code for verb in ("approve", "reject")] == [0, 0]
    assert tidegate("override", ID, "--reason", "an outage").exit_code == 0
    assert [body["decision"] for body in api.bodies(f"POST /api/v1/deployments/{ID}/gate")] == [
        "approve",
        "reject",
        "override",
    ]


def test_nobody_is_told_to_approve_where_no_approval_would_count(api, tidegate):
    waiting(api, "awaiting_requirements")
    assert f"tidegate approve {ID}" in tidegate("status", ID).stdout
    api.answers[f"GET /api/v1/deployments/{ID}"] |= {"requirements": {"approvable": False}}
    shown = tidegate("status", ID).stdout
    assert f"tidegate approve {ID}" not in shown
    assert f"tidegate override {ID}" in shown


def test_what_was_overridden_says_by_whom_and_why(api, tidegate):
    waiting(api, "applied")
    override = {"by": "operator", "at": "2026-03-02T09:00:00.000000+00:00", "reason": "an outage"}
    api.answers[f"GET /api/v1/deployments/{ID}"] |= {"requirements": {"override": override}}
    assert "by operator: an outage" in tidegate("status", ID).stdout


def test_who_waits_for_others_has_nothing_to_approve_and_what_can_be_done_is_named(api, tidegate):
    waiting(api, "gated")
    result = tidegate("approve", ID)
    assert result.exit_code == 1
    assert "waits for other deployments" in result.stderr
    assert "tidegate stacks c-1" in result.stderr


def test_a_blocked_deployment_is_shown_with_the_ways_out(api, tidegate):
    waiting(api, "blocked")
    shown = tidegate("status", ID).stdout
    assert f"tidegate retry {ID}" in shown
    assert f"tidegate reject {ID}" in shown


def test_a_destruction_is_asked_for_of_the_roots(api, tidegate):
    accepted(api, brief(state="queued", trigger="manual"), outcome="The destruction of orders is planned.")
    in_turn(api, "queued")
    result = tidegate("destroy", "acme/live", "orders")
    assert result.exit_code == 0
    assert api.bodies("POST /api/v1/deployments") == [{"repository": "acme/live", "roots": ["orders"], "destroy": True}]
    assert "is planned" in result.stdout


@pytest.mark.parametrize(
    ("changes", "words"), [(None, "no plan to approve yet"), (brief()["changes"], "its plan is reviewed")]
)
def test_what_waits_for_others_says_whether_it_has_a_plan(api, tidegate, changes, words):
    api.answers[f"GET /api/v1/deployments/{ID}"] = details(state="gated", change_set="c-1", changes=changes)
    result = tidegate("approve", ID)
    assert result.exit_code != 0
    assert words in " ".join(result.stderr.split())
