"""``tidegate approve`` and ``reject`` with reasons, several deployments, a change, and a second question."""

from __future__ import annotations

import json

import pytest

from tests.cli.changes import CHANGE, member, stack
from tests.cli.conftest import brief, details, refused

FIRST, SECOND = "orders-0123456-0a1b2c3d4e5f", "users-0123456-0a1b2c3d4e5f"
LATER = "2026-03-02T09:05:00.000000+00:00"


def reviews(api, deployment):
    return api.bodies(f"POST /api/v1/deployments/{deployment}/review")


def waits(api, deployment, answer=None, **fields):
    api.answers[f"GET /api/v1/deployments/{deployment}"] = details(id=deployment, **fields)
    done = {"message": f"You decided about {deployment}.", "deployment": brief(id=deployment, state="approved")}
    api.answers[f"POST /api/v1/deployments/{deployment}/review"] = answer or done


@pytest.fixture
def change(api):
    stacks = [
        stack("dev", 1, "awaiting_review", [member("dev", "awaiting_review")]),
        stack("prod", 2, "awaiting_review", [member("prod", "awaiting_review", within=["live"])]),
        stack("it", 3, "applied", [member("it", "applied")]),
    ]
    api.answers["GET /api/v1/changes/c-1"] = {**CHANGE, "stacks": stacks}
    waits(api, "dev-network")
    waits(api, "prod-network")
    return api


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_several_are_decided_each_with_its_plan_and_the_same_reason(api, tidegate, decision):
    waits(api, FIRST)
    waits(api, SECOND, plan_digest="cd" * 32)
    result = tidegate(decision, FIRST, SECOND, "--reason", "as agreed")
    assert result.exit_code == 0
    seen = [{"plan_digest": "ab" * 32}, {"plan_digest": "cd" * 32}] if decision == "approve" else [{}, {}]
    sent = [reviews(api, one)[0] for one in (FIRST, SECOND)]
    assert sent == [{"decision": decision, "reason": "as agreed", **each} for each in seen]


def test_what_is_refused_of_several_is_told_and_the_others_are_decided(api, tidegate):
    waits(api, FIRST, answer=refused(409, "conflict", "another person must approve it"))
    waits(api, SECOND)
    result = tidegate("approve", FIRST, SECOND)
    assert result.exit_code == 1
    assert "another person must approve it" in result.stdout
    assert f"You decided about {SECOND}" in result.stdout
    refusal, done = json.loads(tidegate("approve", FIRST, SECOND, "--json").stdout)["results"]
    assert (refusal["deployment"], refusal["error"]["code"]) == (FIRST, "conflict")
    assert done["deployment"]["id"] == SECOND


def test_what_waits_in_a_stack_of_a_change_is_listed_and_decided_after_a_yes(change, tidegate):
    result = tidegate("approve", "--change", "c-1", "--stack", "dev", typed="y\n")
    assert result.exit_code == 0, result.output
    assert (len(reviews(change, "dev-network")), reviews(change, "prod-network")) == (1, [])
    assert tidegate("approve", "--change", "c-1", "--stack", "live", "--yes").exit_code == 0
    assert len(reviews(change, "prod-network")) == 1


def test_a_plan_that_was_made_after_the_list_was_shown_is_not_approved(change, tidegate):
    waits(change, "dev-network", plan_digest="cd" * 32, changed_at=LATER)
    result = tidegate("approve", "--change", "c-1", typed="y\n")
    assert (result.exit_code, reviews(change, "dev-network")) == (1, [])
    assert "dev-network: It changed after it was listed" in result.stdout
    assert len(reviews(change, "prod-network")) == 1


@pytest.mark.parametrize("typed", ["", "n\n"])
def test_without_a_yes_nothing_is_decided(change, tidegate, typed):
    result = tidegate("approve", "--change", "c-1", typed=typed)
    assert result.exit_code == 1
    assert "Nothing was decided" in result.stderr
    assert reviews(change, "dev-network") == []


@pytest.mark.parametrize(("name", "code", "words"), [("prd", 3, "no stack prd"), ("it", 1, "Nothing of it waits")])
def test_a_stack_without_anything_to_decide_is_told(change, tidegate, name, code, words):
    result = tidegate("reject", "--change", "c-1", "--stack", name, "--yes")
    assert (result.exit_code, words in result.stderr) == (code, True)


def test_what_a_protected_stack_would_lose_is_asked_about(api, tidegate):
    waits(api, FIRST, asks_twice=True, stack="prod")
    assert tidegate("approve", FIRST).exit_code == 1
    assert reviews(api, FIRST) == []
    assert "prod is protected" in tidegate("approve", FIRST, typed="y\n").stderr
    tidegate("approve", FIRST, "--yes")
    assert [each["destroys"] for each in reviews(api, FIRST)] == [True, True]
    assert tidegate("reject", FIRST).exit_code == 0


@pytest.mark.parametrize("words", [[], [FIRST, "--change", "c-1"], [FIRST, "--stack", "dev"]])
def test_deployments_are_chosen_in_one_way(tidegate, words):
    assert tidegate("approve", *words).exit_code == 2


def test_a_reason_is_sent_to_gates_as_well(api, tidegate):
    api.answers[f"GET /api/v1/deployments/{FIRST}"] = details(state="blocked")
    api.answers[f"POST /api/v1/deployments/{FIRST}/gate"] = {"message": "Rejected.", "deployment": brief()}
    tidegate("reject", FIRST, "--reason", "too late")
    assert api.bodies(f"POST /api/v1/deployments/{FIRST}/gate") == [{"decision": "reject", "reason": "too late"}]
