"""Stacks that are rolled out: what their change's page and the API say, and how they are stopped and continued."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import WaveFailure, WaveRules
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access

RULES = WaveRules(max_concurrent=5, stop_on_failures=1)


@pytest.fixture
def change(wires):
    """Of four roots, one is done, one failed, one is applied, and one is held back."""
    states = (State.APPLIED, State.APPLY_FAILED, State.APPLYING, State.BLOCKED)
    roots = [
        deployment_in(state, number, stack="prod", wave=RULES, waits=Waits()) for number, state in enumerate(states, 1)
    ]
    named = [replace(each, root=replace(each.root, name=f"root-{number}")) for number, each in enumerate(roots, 1)]
    made = wires.changed(*named)
    wave = wires.change_sets.wave("c-1", "prod")
    failed = (WaveFailure("root-2", made[1].id),)
    wires.change_sets.save_wave(replace(wave, running=(made[2].id,), failed=failed))
    return made


def operates(wires, who):
    wires.forge.teams["acme/operators"] = {who}


def test_the_api_tells_the_progress_and_the_rules(change, reader):
    (prod,) = reader.get("/api/v1/changes/c-1").json["stacks"]
    assert [prod[word] for word in ("done", "running", "waiting", "failed")] == [1, 1, 1, 1]
    wave = prod["wave"]
    assert (wave["max_concurrent"], wave["stop_on_failures"], wave["held"]) == (5, 1, True)
    assert (wave["failed"], wave["continued"], wave["stopped"]) == (["root-2"], None, None)


def test_a_stack_without_rules_has_no_wave(wires, reader):
    wires.changed(deployment_in(State.APPLIED, stack="dev"))
    assert reader.get("/api/v1/changes/c-1").json["stacks"][0]["wave"] is None


def test_the_page_shows_progress_rules_and_what_can_be_done(change, wires, browser):
    operates(wires, "somebody-else")
    page = browser.get("/changes/c-1")
    assert "1 of 4 done, 1 running, 1 waiting, 1 failed" in page.text
    assert "At most 5 are applied at the same time" in page.text
    assert "Stop this stack" in page.text
    assert "I understand" in page.text
    assert "Continue this stack" not in page.text


def test_who_may_not_reject_is_not_offered_to_stop(wires, browser):
    wires.changed(deployment_in(State.GATED, stack="prod", wave=RULES, access=Access(review=("user:owner",))))
    assert "Stop this stack" not in browser.get("/changes/c-1").text


def test_somebody_stops_a_stack_by_its_page(change, wires, browser):
    sent = browser.post_form("/changes/c-1/stop", csrf=browser.form_token(), stack="prod", sure="yes")
    page = browser.get(sent.headers["location"])
    assert "You stopped the stack" in page.text
    assert "reviewer stopped this stack" in page.text
    assert "Stop this stack" not in page.text
    assert wires.change_sets.wave("c-1", "prod").stopped.by == "reviewer"
    assert browser.post_form("/changes/c-1/stop", csrf=browser.form_token(), stack="dev").status == 404


def test_an_operator_lets_a_stack_continue_by_its_page(change, wires, browser):
    operates(wires, "reviewer")
    assert "Continue this stack" in browser.get("/changes/c-1").text
    given = {"stack": "prod", "reason": "a quota"}
    sent = browser.post_form("/changes/c-1/continue", csrf=browser.form_token(), **given)
    page = browser.get(sent.headers["location"]).text
    assert "reviewer let it continue" in page
    assert "a quota" in page


def test_only_operators_let_a_stack_continue(change, wires, reviewer):
    operates(wires, "somebody-else")
    given = {"stack": "prod", "reason": "x"}
    assert reviewer.post_json("/api/v1/changes/c-1/continue", given).status == 403


def test_programs_stop_and_continue_by_the_api(change, wires, reviewer):
    given = {"stack": "prod", "reason": "x"}
    operates(wires, "reviewer")
    assert reviewer.post_json("/api/v1/changes/c-1/continue", given).status == 200
    (prod,) = reviewer.get("/api/v1/changes/c-1").json["stacks"]
    assert prod["wave"]["continued"]["reason"] == "x"
    assert reviewer.post_json("/api/v1/changes/c-1/continue", given | {"reason": "y"}).status == 409
    stopped = reviewer.post_json("/api/v1/changes/c-1/stop", {"stack": "prod"})
    assert stopped.json["stacks"][0]["wave"]["stopped"]["by"] == "reviewer"
