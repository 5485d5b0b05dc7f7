"""Plans of a change that are decided at once, from its page."""

from __future__ import annotations

import re

import pytest

from tests.api.scenario import Client
from tests.builders import amended, any_artifact, any_plan, any_root, deployment_in
from tidegate.deploys.reviews.decide_many import MOST_AT_ONCE
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicySetStatus
from tidegate.rules.access import Access

PROTECTED = {
    "review_rule": ReviewRule(protected=True),
    "plan": any_plan(changes=PlannedChanges(destroy=1, destroyed=("aws_db_instance.main",))),
}


def waiting(number, root, stack="dev", **fields):
    return deployment_in(State.AWAITING_REVIEW, number, root=any_root(name=root), stack=stack, **fields)


@pytest.fixture
def change(wires):
    made = wires.changed(waiting(1, "network"), waiting(2, "app"), waiting(3, "data", "prod", **PROTECTED))
    return {one.root.name: one for one in made}


def selected(page):
    return re.findall(r'name="plan" value="([^"]+)"', page.body)


def decide(browser, plans, decision="approve", **fields):
    sent = {"csrf": browser.form_token(), "plan": plans, "decision": decision, **fields}
    return browser.post_form("/changes/c-1/review", **sent)


def test_who_decides_many_plans_sees_which_of_them_policies_block(wires, browser):
    held = PolicySetStatus("costs")
    made = wires.changed(waiting(4, "dear", policy_sets=(held,)), waiting(5, "cheap"), change="c-2")
    page = browser.get(f"/changes/{made[0].change.id}")
    assert page.text.count("Policy set costs has not evaluated this plan.") == 1


def test_the_page_of_a_change_has_a_checkbox_for_each_plan_that_waits(change, browser):
    page = browser.get("/changes/c-1")
    assert sorted(selected(page)) == sorted(f"{one.id}:{one.planned.plan.file.sha256}" for one in change.values())
    assert page.text.count("destroys in a protected stack") == 1
    assert "Approve the selected" in page.text


def test_the_selected_plans_are_decided_with_a_reason_and_no_others(change, browser, wires):
    app, network, _ = selected(browser.get("/changes/c-1"))
    page = decide(browser, [network], "reject", reason="the <b>wrong</b> region")
    assert "1 of 1 rejected" in page.text
    assert "reviewer rejected the plan: the &lt;b&gt;wrong&lt;/b&gt; region." in page.body
    assert wires.deployments.get(change["network"].id).state is State.REJECTED
    page = decide(browser, [app])
    assert wires.deployments.get(change["app"].id).state is State.APPROVED
    assert wires.deployments.get(change["data"].id).state is State.AWAITING_REVIEW


def test_what_is_refused_is_told_with_its_reason_and_the_others_are_decided(change, browser, wires):
    plans = selected(browser.get("/changes/c-1"))[:2]
    newer = any_plan(file=any_artifact(sha256="f" * 64))
    one = wires.deployments.get(change["network"].id)
    wires.deployments.save(amended(one, plan=newer))
    page = decide(browser, plans)
    assert "1 of 2 approved" in page.text
    assert "The plan that you reviewed is not the current one" in page.text
    assert wires.deployments.get(change["network"].id).state is State.AWAITING_REVIEW
    assert wires.deployments.get(change["app"].id).state is State.APPROVED


def test_what_a_protected_stack_would_lose_is_asked_about_once_more(change, browser, wires):
    plans = selected(browser.get("/changes/c-1"))
    question = decide(browser, plans, reason="moved away")
    assert "aws_db_instance.main" in question.text
    assert "This plan destroys 1 resource." in question.text
    assert {wires.deployments.get(one.id).state for one in change.values()} == {State.AWAITING_REVIEW}
    assert selected(question) == plans
    assert 'name="reason" value="moved away"' in question.body
    decide(browser, plans, reason="moved away", destroys="yes")
    assert {wires.deployments.get(one.id).state for one in change.values()} == {State.APPROVED}


def test_a_rejection_is_not_asked_about(change, browser, wires):
    decide(browser, selected(browser.get("/changes/c-1")), "reject")
    assert {wires.deployments.get(one.id).state for one in change.values()} == {State.REJECTED}


def test_each_plan_is_for_whom_its_access_control_names(wires, browser):
    wires.changed(
        waiting(1, "network", access=Access(review=("user:reviewer",))),
        waiting(2, "app", access=Access(review=("user:owner",))),
    )
    page = browser.get("/changes/c-1")
    (network,) = selected(page)
    app = wires.deployments.many([each.deployment for each in wires.change_sets.deployments("c-1")])
    (other,) = [one for one in app.values() if one.root.name == "app"]
    told = decide(browser, [network, f"{other.id}:{other.planned.plan.file.sha256}"])
    assert "1 of 2 approved" in told.text
    assert wires.deployments.get(other.id).state is State.AWAITING_REVIEW


def test_who_may_only_read_has_no_form_and_decides_nothing(change, wires, browser):
    plans = selected(browser.get("/changes/c-1"))
    reader = Client(wires).sign_in("reader")
    assert selected(reader.get("/changes/c-1")) == []
    assert "0 of 3 approved" in decide(reader, plans, destroys="yes").text
    assert decide(Client(wires).sign_in("visitor"), plans).status == 404


def test_who_just_lost_the_permission_decides_nothing(change, wires, browser):
    plans = selected(browser.get("/changes/c-1"))[:2]
    wires.forge.writers.discard("reviewer")
    assert "0 of 2 approved" in decide(browser, plans).text


@pytest.mark.parametrize("plans", [[], ["none:x"], ["x"] * (MOST_AT_ONCE + 1)])
def test_without_a_valid_selection_nothing_is_decided(change, browser, plans):
    assert decide(browser, plans).status == 400


def test_a_service_that_fails_is_told_for_each_plan(change, browser, wires):
    plans = selected(browser.get("/changes/c-1"))[:2]
    wires.audit.unavailable = True
    page = decide(browser, plans, "reject")
    assert "0 of 2 rejected" in page.text
    assert "Try again" in page.text
