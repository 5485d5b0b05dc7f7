"""The page of a change, its answer of the API, and what is answered at gates."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from datetime import timedelta

import pytest

from tests.builders import NOW, REPOSITORY, amended, any_plan, any_root, deployment_in
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.freeze import Freeze, Hold, missing
from tidegate.deploys.rules.gate import GateAnswer
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval, Override
from tidegate.rules.decision import Decision
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.rules.headline import Headline
from tidegate.web.shapes import SHOWN_WAITS


@pytest.fixture
def change(wires):
    """Dev is applied, staging waits for its review, prod for both."""
    made = wires.changed(
        deployment_in(State.APPLIED, 1, stack="dev", layers=3, why="A file of it changed."),
        deployment_in(State.AWAITING_REVIEW, 2, stack="staging", waits=Waits(apply_after=("dev",)), layers=3),
        deployment_in(
            State.GATED, 3, stack="prod", waits=Waits(apply_after=("dev", "staging")), layer=3, layers=3, pull_request=7
        ),
    )
    return {one.stack: one for one in made}


def test_the_api_tells_the_stacks_of_a_change_and_what_each_member_waits_for(change, reader):
    answer = reader.get("/api/v1/changes/c-1").json
    assert (answer["id"], answer["repository"], answer["layers"], answer["left_out"]) == ("c-1", REPOSITORY, 3, 0)
    dev, staging, prod = answer["stacks"]
    assert [(one["name"], one["tier"], one["state"], one["done"]) for one in (dev, staging, prod)] == [
        ("dev", 1, "applied", 1),
        ("staging", 2, "awaiting_review", 0),
        ("prod", 3, "gated", 0),
    ]
    assert (prod["apply_after"], prod["plan_after"]) == (["staging"], [])
    (member,) = prod["members"]
    (waits,) = member["gated_by"]
    assert (waits["deployment"], waits["root"], waits["stack"], waits["state"], waits["before"]) == (
        change["staging"].id,
        "network",
        "staging",
        "awaiting_review",
        "apply",
    )
    assert dev["members"][0]["why"] == "A file of it changed."


def test_of_very_many_that_a_member_waits_for_the_first_are_told_and_how_many_more(wires, reader):
    """Otherwise the answer about a change of a thousand roots would be larger than a function may give."""
    made = [
        deployment_in(State.PLANNING, number, stack="dev", root=any_root(name=f"root-{number:02}"), id=f"dev-{number}")
        for number in range(SHOWN_WAITS + 5)
    ]
    waits = Waits(apply_after=("dev",))
    wires.changed(*made, deployment_in(State.GATED, 99, stack="prod", waits=waits, id="prod-1"))
    (member,) = reader.get("/api/v1/changes/c-1").json["stacks"][1]["members"]
    assert (len(member["gated_by"]), member["gated_by_left_out"]) == (SHOWN_WAITS, 5)
    assert len(reader.get("/api/v1/deployments/prod-1").json["gated_by"]) == SHOWN_WAITS + 5


def test_a_deployments_details_tell_its_stack_its_layer_and_what_it_waits_for(change, reader):
    details = reader.get(f"/api/v1/deployments/{change['prod'].id}").json
    assert (details["stack"], details["layer"], details["layers"], details["change_set"]) == ("prod", 3, 3, "c-1")
    assert [one["stack"] for one in details["gated_by"]] == ["staging"]


def test_the_page_of_a_change_shows_its_picture_and_its_stacks_in_order(change, browser):
    page = browser.get("/changes/c-1")
    assert page.status == 200
    (drawing,) = re.findall(r"<svg class=.graph.*?</svg>", page.body, re.DOTALL)
    drawn = ET.fromstring(drawing)  # noqa: S314  # It is what is tested: no outsider's.
    assert "prod: waiting for others, 0 of 1 done, apply after staging." in drawn.findtext("{*}desc")
    groups = page.body[page.body.index('id="stack-1"') :]
    assert groups.index('id="stack-2"') < groups.index('id="stack-3"')
    for one in change.values():
        assert f'href="/deployments/{one.id}"' in groups
    assert "network of staging (waiting for review)" in page.text
    assert "1 of 3 done" in page.text
    assert "1 plan waits for a review: network in staging" in page.text


def test_a_change_that_is_over_does_not_ask_again(wires, browser):
    wires.changed(deployment_in(State.APPLIED))
    assert "data-live" not in browser.get("/changes/c-1").body


def test_a_change_that_is_none_is_not_found(browser, reader):
    assert browser.get("/changes/none").status == reader.get("/api/v1/changes/none").status == 404


def test_the_page_of_a_deployment_leads_to_its_change_and_offers_to_reject_it_at_a_gate(change, browser):
    page = browser.get(f"/deployments/{change['prod'].id}")
    assert 'href="/changes/c-1"' in page.body
    assert f'href="/deployments/{change["staging"].id}"' in page.body
    assert "of stack staging, before the apply" in page.text
    assert "/pull/7" in page.body
    assert "In stack prod, layer 3 of 3" in page.text
    assert ">Reject<" in page.body
    assert ">Retry<" not in page.body
    assert ">Reject<" not in browser.get(f"/deployments/{change['dev'].id}").body


def test_retry_is_offered_where_something_that_failed_can_be_run_again(wires, browser):
    _, blocked = wires.changed(
        deployment_in(State.PLAN_FAILED, 1, stack="dev"),
        deployment_in(State.BLOCKED, 2, stack="prod", waits=Waits(apply_after=("dev",))),
    )
    page = browser.get(f"/deployments/{blocked.id}")
    assert ">Retry<" in page.body
    assert ">Reject<" in page.body


@pytest.fixture
def fixed(wires):
    """Dev failed and prod waits for it; a newer revision that contains both stands in dev."""
    newer = wires.deployed(deployment_in(State.APPLIED, 9, stack="dev"))
    failed, _ = wires.changed(
        deployment_in(State.PLAN_FAILED, 1, stack="dev", contained_by=newer.id),
        deployment_in(State.PLANNING, 2, stack="prod"),
    )
    return failed, newer


def test_a_failed_member_that_a_newer_revision_replaced_says_so_and_needs_nobody(fixed, browser):
    failed, newer = fixed
    page = browser.get("/changes/c-1")
    assert f"superseded by {newer.revision.short} , which is" in page.text
    assert f'href="/deployments/{newer.id}"' in page.body
    assert "1 failed" not in page.text
    assert 'class="state bad"' not in page.body
    assert "dev Applied 1 of 1 done" in page.text
    shown = browser.get(f"/deployments/{failed.id}")
    assert f'href="/deployments/{newer.id}"' in shown.body
    assert f"superseded by {newer.revision.short} , which is" in shown.text
    assert 'class="state bad"' not in shown.body.partition("</h1>")[2][:200]
    assert "Correct the configuration" not in shown.text


def test_the_api_tells_what_replaced_a_member(fixed, reader):
    _, newer = fixed
    dev, prod = reader.get("/api/v1/changes/c-1").json["stacks"]
    (member,), (other,) = dev["members"], prod["members"]
    assert (dev["state"], dev["done"], member["state"]) == ("applied", 1, "plan_failed")
    assert (member["replaced_by"]["deployment"], member["replaced_by"]["revision"]) == (newer.id, newer.revision.sha)
    assert other["replaced_by"] is None


def test_the_api_tells_what_replaced_a_deployment(fixed, reader):
    failed, newer = fixed
    replaced_by = reader.get(f"/api/v1/deployments/{failed.id}").json["replaced_by"]
    assert (replaced_by["deployment"], replaced_by["revision"]) == (newer.id, newer.revision.sha)
    assert reader.get(f"/api/v1/deployments/{newer.id}").json["replaced_by"] is None


def test_a_replacement_that_is_not_known_any_more_is_told_without_its_revision(wires, browser):
    (failed,) = wires.changed(deployment_in(State.PLAN_FAILED, 1, stack="dev", contained_by="forgotten"))
    for page in ("/changes/c-1", f"/deployments/{failed.id}"):
        assert "superseded by a newer revision , which is deployed" in browser.get(page).text


class Gates:
    """Remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.answer = Decision(True, "It runs again.")

    def decide(self, _ports, deployment, answer, by, at, reason=""):
        self.asked.append((deployment, answer, by, reason) if reason else (deployment, answer, by))
        return self.answer


@pytest.fixture
def gates(monkeypatch):
    gates = Gates()
    for page in ("api", "change_pages"):
        monkeypatch.setattr(f"tidegate.web.{page}.decide_gate", gates.decide)
    return gates


def test_a_gate_is_answered_by_the_buttons_and_by_the_api(change, gates, browser, reviewer):
    one = change["prod"].id
    answer = browser.post_form(f"/deployments/{one}/gate", csrf=browser.form_token(), decision="retry")
    assert (answer.status, answer.headers["location"]) == (303, f"/deployments/{one}?done=retried")
    assert "The failed deployments run again." in browser.get(answer.headers["location"]).text
    answer = reviewer.post_json(f"/api/v1/deployments/{one}/gate", {"decision": "reject"})
    assert (answer.status, answer.json["message"]) == (200, "It runs again.")
    assert gates.asked == [(one, GateAnswer.RETRY, "reviewer"), (one, GateAnswer.REJECT, "reviewer")]


def test_only_operators_override_what_is_required_and_whoever_is_asked_approves(wires, gates, browser, reviewer):
    one = wires.deployed(deployment_in(State.AWAITING_REQUIREMENTS)).id
    wires.forge.teams["acme/operators"] = {"somebody-else"}
    page = browser.get(f"/deployments/{one}").text
    assert "waits for its requirements" in page
    assert "Approve" in page
    assert "Override" not in page
    given = {"decision": "override", "reason": "an outage"}
    assert reviewer.post_json(f"/api/v1/deployments/{one}/gate", given).status == 403
    assert browser.post_form(f"/deployments/{one}/gate", csrf=browser.form_token(), **given).status == 403
    assert reviewer.post_json(f"/api/v1/deployments/{one}/gate", {"decision": "approve"}).status == 200
    assert gates.asked[-1] == (one, GateAnswer.APPROVE, "reviewer")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"authors": ("Reviewer",)},
            ("reviewer authored, pushed or merged this change, so another person must approve it."),
        ),
        ({"approved_here": (Approval("reviewer", NOW),)}, "reviewer already approved this deployment."),
    ],
)
def test_who_may_not_approve_is_told_so_in_place_of_the_button(wires, browser, fields, told):
    page = browser.get(f"/deployments/{wires.deployed(deployment_in(State.AWAITING_REQUIREMENTS, **fields)).id}").text
    assert told in page
    assert " Approve " not in page


def test_what_is_frozen_says_until_when_and_asks_for_no_approval(wires, browser, reviewer):
    found = missing([Hold(Freeze(reason="quarter end"), utc("2026-03-02T16:50"))], ())
    frozen = deployment_in(State.AWAITING_REQUIREMENTS, missing=found.sentences, frozen=found.frozen)
    one = wires.deployed(frozen).id
    page = browser.get(f"/deployments/{one}").text
    assert "Frozen until 2026-03-02 16:50 UTC: quarter end" in page
    assert "waits for its requirements" not in page
    assert " Approve " not in page
    assert not reviewer.get(f"/api/v1/deployments/{one}").json["requirements"]["approvable"]


def test_an_operator_overrides_what_is_required(wires, gates, browser, reviewer):
    wires.forge.teams["acme/operators"] = {"reviewer"}
    waiting = deployment_in(State.AWAITING_REQUIREMENTS, override=Override("other", NOW, "a test"))
    one = wires.deployed(waiting).id
    page = browser.get(f"/deployments/{one}").text
    assert "Override" in page
    assert "Overridden by other" in page
    given = {"decision": "override", "reason": "an outage"}
    browser.post_form(f"/deployments/{one}/gate", csrf=browser.form_token(), **given)
    assert reviewer.post_json(f"/api/v1/deployments/{one}/gate", given).status == 200
    assert gates.asked == [(one, GateAnswer.OVERRIDE, "reviewer", "an outage")] * 2
    told = reviewer.get(f"/api/v1/deployments/{one}").json["requirements"]
    assert told["missing"] == ["1 approval is required."]
    assert told["override"] == {"by": "other", "at": timestamp_text(NOW), "reason": "a test"}


def test_what_is_not_possible_at_a_gate_is_refused_with_the_reason(change, gates, browser, reviewer):
    gates.answer = Decision(False, "It waits at no gate.")
    one = change["prod"].id
    refused = reviewer.post_json(f"/api/v1/deployments/{one}/gate", {"decision": "retry"})
    assert (refused.status, refused.json["error"]["message"]) == (409, "It waits at no gate.")
    assert browser.post_form(f"/deployments/{one}/gate", csrf=browser.form_token(), decision="retry").status == 409


def test_an_answer_that_is_none_reaches_no_gate(change, gates, browser, reviewer):
    one = change["prod"].id
    assert browser.post_form(f"/deployments/{one}/gate", csrf=browser.form_token(), decision="open").status == 400
    assert reviewer.post_json(f"/api/v1/deployments/{one}/gate", {"decision": "open"}).status == 422
    assert gates.asked == []


def test_names_of_stacks_are_text_on_the_page(wires, browser):
    hostile = "<b>x</b>"
    wires.changed(
        deployment_in(State.QUEUED, 1, stack=hostile),
        amended(deployment_in(State.GATED, 2, stack="prod", waits=Waits(apply_after=(hostile,))), plan=any_plan()),
    )
    assert "<b>x" not in browser.get("/changes/c-1").body


def test_a_retried_member_does_not_rename_its_change(wires, browser):
    first, second = deployment_in(State.PLAN_FAILED, 1), deployment_in(State.APPLIED, 2)
    again = amended(first, trigger=Trigger.RERUN, requested_by="operator", root=any_root(name="app"), rerun_of="first")
    wires.changed(again, amended(second, requested_by="developer"))
    page = browser.get("/changes/c-1").text
    assert "merge by developer" in page
    assert "rerun by operator" not in page


def test_a_manual_deploy_is_told_from_the_merge_of_the_same_pull_request(wires, browser):
    told = Headline("Grow", "developer", "", 7, "Grow it")
    for day, (change, trigger) in enumerate((("c-1", Trigger.MERGE), ("c-2", Trigger.MANUAL))):
        known = {"headline": told, "trigger": trigger, "requested_at": NOW + timedelta(days=day)}
        of = [amended(deployment_in(State.APPLIED, number), id=f"{change}-{number}", **known) for number in (1, 2)]
        wires.changed(*of, change=change)
    assert "manual deploy of" not in browser.get("/changes/c-1").text
    assert "manual deploy of" in browser.get("/changes/c-2").text
    assert browser.get(f"/repositories/{REPOSITORY}/deployments").text.count("manual deploy of") == 1


def test_a_link_cannot_claim_a_stop(change, browser):
    for done in ("stopped", "continued"):
        assert 'class="notice"' not in browser.get(f"/changes/c-1?done={done}").body
