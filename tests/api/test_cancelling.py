"""Cancelling on a deployment's page and by the API."""

from __future__ import annotations

import pytest

from tests.api.scenario import Client
from tests.builders import any_job, deployment_in
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access


def applying(wires):
    one = wires.deployed(deployment_in(State.APPLYING))
    job = any_job(JobKind.APPLY, id=one.apply.job)
    wires.jobs.create(job)
    wires.jobs.hand_over(job.id, "token", "clone")
    wires.jobs.take(job.id, "arn:aws:ecs:eu-central-1:1:task/1")
    return one


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.GATED, State.AWAITING_REVIEW])
def test_the_page_of_what_waits_or_plans_offers_to_cancel_it(wires, browser, state):
    one = wires.deployed(deployment_in(state))
    assert "Cancel this deployment" in browser.get(f"/deployments/{one.id}").text
    answer = browser.post_form(f"/deployments/{one.id}/cancel", csrf=browser.form_token())
    assert (answer.status, answer.headers["location"]) == (303, f"/deployments/{one.id}?done=cancelled")
    assert wires.deployments.get(one.id).state is State.CANCELLED
    page = browser.get(f"/deployments/{one.id}")
    assert "Cancelled by reviewer" in page.text
    assert "Cancel this deployment" not in page.text


def test_the_page_interrupts_an_apply_only_after_its_warning_was_accepted(wires, browser):
    one = applying(wires)
    page = browser.get(f"/deployments/{one.id}")
    assert "partly changed" in page.text
    assert browser.post_form(f"/deployments/{one.id}/cancel", csrf=browser.form_token()).status == 409
    assert wires.runners.stopped == {}
    assert browser.post_form(f"/deployments/{one.id}/cancel", csrf=browser.form_token(), apply="yes").status == 303
    assert wires.runners.stopped
    shown = browser.get(f"/deployments/{one.id}").text
    assert "reviewer interrupted the apply" in shown
    assert "I understand, interrupt it anyway" not in shown, "it is done once"


def test_the_api_cancels_and_says_what_came_of_it(wires, reviewer):
    one = wires.deployed(deployment_in(State.PLANNING))
    answer = reviewer.post_json(f"/api/v1/deployments/{one.id}/cancel", {})
    assert (answer.status, answer.json["deployment"]["state"]) == (200, "cancelled")
    assert reviewer.get(f"/api/v1/deployments/{one.id}").json["cancelled"]["by"] == "reviewer"


def test_the_api_interrupts_an_apply_only_if_it_is_said(wires, reviewer):
    one = applying(wires)
    assert reviewer.post_json(f"/api/v1/deployments/{one.id}/cancel", {}).status == 409
    assert reviewer.post_json(f"/api/v1/deployments/{one.id}/cancel", {"apply": True}).status == 200


def test_only_who_may_decide_about_its_plan_cancels_a_deployment(wires, browser):
    one = wires.deployed(deployment_in(State.PLANNING, access=Access(review=("team:sre",))))
    assert "Cancel this deployment" not in browser.get(f"/deployments/{one.id}").text
    assert Client(wires, "token-of-reviewer").post_json(f"/api/v1/deployments/{one.id}/cancel", {}).status == 403
    assert wires.deployments.get(one.id).state is State.PLANNING
