"""The page of a deployment: its phases, the log of what runs, the first error, and the deployments around it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.api.scenario import Client
from tests.builders import NOW, any_job, any_root, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.ports import LogChunk

ERROR = "Unsupported argument (main.tf line 2): terraform plan failed with exit code 1."


def stepped(wires, state, *steps, number=1, **fields):
    """Store a deployment whose steps are at these seconds."""
    one = deployment_in(state, number, **fields)
    history = tuple(Step(each, NOW + timedelta(seconds=at)) for each, at in steps)
    return wires.deployed(replace(one, history=history))


def planning(wires, *lines):
    """Store a deployment that plans, with what its job has written."""
    one = stepped(wires, State.PLANNING, (State.QUEUED, 0), (State.PLANNING, 4))
    job = any_job(id=f"{one.id}-plan-1", deployment=one.id)
    wires.jobs.create(job)
    wires.jobs.hand_over(job.id, "token", "clone")
    wires.jobs.take(job.id, "runner")
    if lines:
        wires.job_logs.append(job.id, LogChunk(0, lines))
    return wires.deployments.save(replace(one, planned=replace(one.planned, job=job.id)))


def test_the_phases_are_shown_with_what_each_took(wires, browser):
    steps = (State.QUEUED, 0), (State.PLANNING, 4), (State.AWAITING_REVIEW, 64), (State.APPROVED, 3664)
    one = stepped(wires, State.APPLIED, *steps, (State.APPLYING, 3665), (State.APPLIED, 3795))
    wires.deployments.save(replace(one, planned=replace(one.planned, job="a-plan-1")))
    text = browser.get(f"/deployments/{one.id}").text
    assert "Queue 4 s Plan 1 min Review 1 h Apply 2 min 11 s" in text


def test_a_plan_that_never_began_is_no_phase(wires, browser):
    one = stepped(wires, State.REJECTED, (State.QUEUED, 0), (State.PLANNING, 4), (State.GATED, 5), (State.REJECTED, 65))
    text = browser.get(f"/deployments/{one.id}").text
    assert "Queue 5 s" in text
    assert "Plan 1 s" not in text


def test_what_has_not_begun_is_told_too(wires, browser):
    one = planning(wires)
    text = browser.get(f"/deployments/{one.id}").text
    assert "so far Apply not yet" in text


def test_the_first_error_is_the_headline_on_the_page_and_in_lists(wires, browser):
    one = stepped(wires, State.PLAN_FAILED, (State.QUEUED, 0), (State.PLAN_FAILED, 9), reason=ERROR)
    page = browser.get(f"/deployments/{one.id}")
    assert f"<h2>{ERROR}</h2>" in page.body
    assert ERROR in browser.get(f"/repositories/{one.repository}/deployments").text


@pytest.mark.parametrize(
    ("lines", "folded", "shown"),
    [
        (("tidegate: cloning", "aws_vpc.main: Creating..."), "Preparation, 1 line", "aws_vpc.main: Creating..."),
        (("tidegate: cloning", "Initializing the backend..."), "Preparation, 2 lines", "Initializing the backend..."),
        ((), "No lines yet", ""),
    ],
)
def test_the_log_of_what_runs_is_in_the_page_with_its_preparation_apart(wires, browser, lines, folded, shown):
    one = planning(wires, *lines)
    page = browser.get(f"/deployments/{one.id}")
    assert folded in page.text
    assert shown in page.text
    assert f'href="/jobs/{one.planned.job}"' in page.body


def test_of_a_long_log_the_end_is_in_the_page(wires, browser):
    one = planning(wires, *(f"line {number}" for number in range(2000)))
    text = browser.get(f"/deployments/{one.id}").text
    assert "1,700 earlier lines" in text
    assert "line 1999" in text
    assert "line 1699" not in text


def test_a_deployment_leads_to_those_before_and_after_it_of_its_root(wires, browser):
    first, second, third = (stepped(wires, State.APPLIED, (State.QUEUED, 0), number=number) for number in (1, 2, 3))
    stepped(wires, State.APPLIED, (State.QUEUED, 0), number=4, root=any_root(name="orders"))
    body = browser.get(f"/deployments/{second.id}").body
    assert f'rel="prev" href="/deployments/{first.id}"' in body
    assert f'rel="next" href="/deployments/{third.id}"' in body
    assert 'rel="next"' not in browser.get(f"/deployments/{third.id}").body
    assert 'rel="prev"' not in browser.get(f"/deployments/{first.id}").body


def test_times_are_told_as_seen_from_now_with_utc_beside(wires, browser):
    one = stepped(wires, State.QUEUED, (State.QUEUED, 0))
    wires.clock.at = NOW + timedelta(hours=3, minutes=5)
    body = browser.get(f"/repositories/{one.repository}/deployments").body
    assert 'title="2026-03-02 08:00:01 UTC" data-relative>3 h ago<' in body


def test_a_deployment_that_failed_is_run_again_with_its_button_where_it_says_why(wires, browser):
    one = stepped(wires, State.PLAN_FAILED, (State.QUEUED, 0), (State.PLAN_FAILED, 9), reason=ERROR)
    path = f"/deployments/{one.id}"
    assert f'action="{path}/rerun"' in browser.get(path).body
    answer = browser.post_form(f"{path}/rerun", csrf=browser.form_token())
    assert answer.status == 303
    request = wires.deliveries.get(answer.headers["location"].partition("request=")[2])
    assert (request.event, request.fields["external_id"], request.fields["sender"]) == ("rerun", one.id, "reviewer")
    page = browser.get(answer.headers["location"])
    assert "The re-run is requested." in page.text
    assert "data-live" in page.body
    wires.deliveries.conclude(request.id, "network: enqueued")
    assert "network: enqueued" in browser.get(answer.headers["location"]).text


@pytest.mark.parametrize("state", [State.APPLIED, State.SUPERSEDED, State.PLANNING])
def test_what_did_not_fail_has_no_button_to_run_it_again(wires, browser, state):
    one = stepped(wires, state, (State.QUEUED, 0))
    page = browser.get(f"/deployments/{one.id}?request=nonsense")
    assert "/rerun" not in page.body
    assert "requested." not in page.text


def test_who_may_only_read_has_no_button_to_run_it_again(wires):
    one = stepped(wires, State.PLAN_FAILED, (State.QUEUED, 0), reason=ERROR)
    assert "/rerun" not in Client(wires).sign_in("reader").get(f"/deployments/{one.id}").body
