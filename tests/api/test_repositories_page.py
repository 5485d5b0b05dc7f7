"""What the page of repositories tells of each: what needs a person, and where that is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import REPOSITORY, any_deployment, any_lock, any_root, deployment_in
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.state import State
from tidegate.ports import RepositoryNames


@pytest.fixture
def busy(wires):
    """A repository with a root in each state that needs a person, and one that needs nobody."""

    def placed(state, number, **of_head):
        one = wires.deployed(deployment_in(state, number, root=any_root(name=f"root-{number}")))
        head, first = wires.queues.read(one.queue)
        ended = Deployed(one.id, one.revision, one.state, one.request.trigger)
        ran = {"in_flight": one.id} if state not in {State.PLAN_FAILED, State.APPLIED} else {"attempted": ended}
        wires.queues.commit(head, replace(head, **ran, **of_head), take=first)
        return one

    states = (State.AWAITING_REVIEW, State.BLOCKED, State.PLAN_FAILED, State.PLANNING)
    made = {state: placed(state, number) for number, state in enumerate(states, 1)}
    made[State.AWAITING_REQUIREMENTS] = placed(State.AWAITING_REQUIREMENTS, 7)
    made[State.APPLIED] = placed(State.APPLIED, 5, lock=any_lock())
    wires.deployed(any_deployment(6, root=any_root(name="root-5")))
    wires.repository_index.keep_names(RepositoryNames(REPOSITORY, tuple(f"root-{number}" for number in range(1, 7))))
    return made


def test_the_first_page_says_what_of_a_repository_needs_a_person_and_leads_there(busy, browser):
    page = browser.get("/repositories")
    for said in (
        "1 locked root-5",
        "1 waits for review root-1",
        "1 waits for requirements root-7",
        "1 blocked root-2",
        "1 failed root-3",
    ):
        assert said in page.text
    assert "6 roots, 1 running, 1 queued" in page.text
    for state in (State.AWAITING_REVIEW, State.BLOCKED, State.PLAN_FAILED):
        assert f'href="/deployments/{busy[state].id}"' in page.body
    assert 'href="/queue?repository=acme%2Finfra&amp;root=root-5"' in page.body
    assert "root-4" not in page.text


def test_of_many_roots_with_one_need_the_first_page_names_three(wires, browser):
    for number in range(5):
        one = wires.deployed(any_deployment(number, root=any_root(name=f"root-{number}")))
        head, _ = wires.queues.read(one.queue)
        wires.queues.commit(head, replace(head, lock=any_lock()))
    assert "5 locked root-0 , root-1 , root-2 and 2 more" in browser.get("/repositories").text


def test_what_failed_half_a_year_ago_is_not_counted_on_the_first_page(busy, wires, browser):
    wires.clock.advance(200 * 86_400)
    page = browser.get("/repositories")
    assert "failed" not in page.text
    assert "1 locked" in page.text
    assert "6 roots" in page.text


def test_of_a_repository_that_needs_nobody_the_first_page_says_how_many_roots_it_has(wires, browser):
    wires.deployed()
    wires.repository_index.keep_names(RepositoryNames(REPOSITORY, ("network",)))
    page = browser.get("/repositories")
    assert "1 root, 1 queued" in page.text
    assert "waits for review" not in page.text


def test_the_first_page_says_that_it_does_not_count_everything(busy, browser, monkeypatch):
    assert "more than this page reads" not in browser.get("/repositories").text
    monkeypatch.setattr("tidegate.web.inbox.MOST_ATTENTION", 1)
    assert "more than this page reads" in browser.get("/repositories").text
