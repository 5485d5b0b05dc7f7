"""The inbox: what a person has to decide, what runs, failed, drifted and is locked, and how much it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.counted import STORES, Counted
from tests.api.scenario import Client
from tests.builders import NOW, REPOSITORY, amended, any_drift, any_lock, any_root, deployment_in
from tidegate.config.rules.drift import DriftFinding, DriftState
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.repository_locks import RepositoryLocks
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.ports import KnownRepository
from tidegate.vcs.rules.headline import Headline

STATES = (State.AWAITING_REVIEW, State.BLOCKED, State.PLANNING, State.QUEUED, State.APPLIED)


def placed(wires, state, number, **fields):
    """Store a deployment in a state, of a root of its own."""
    fields = {"root": any_root(name=f"root-{number}"), "headline": Headline(f"Change {number}"), **fields}
    return wires.deployed(deployment_in(state, number, **fields))


def failed(wires, number, **fields):
    one = placed(wires, State.APPLY_FAILED, number, **fields)
    head, first = wires.queues.read(one.queue)
    ended = Deployed(one.id, one.revision, one.state, one.request.trigger)
    wires.queues.commit(head, replace(head, attempted=ended), take=first)
    return one


def parts(page):
    """Return the text of each part of a page by its heading's first words."""
    return {
        part.partition("<")[0].strip(): part for part in page.body.split("<h2")[1:] for part in [part.split(">", 1)[1]]
    }


def test_several_plans_of_a_change_lead_to_where_they_are_decided_at_once(wires, browser):
    for number, change in enumerate(("c-1", "c-1", "c-2"), 1):
        placed(wires, State.AWAITING_REVIEW, number, headline=Headline("Enlarge it"), change_set=change)
    page = browser.get("/")
    assert "Review the 2 plans of Enlarge it at once" in page.text
    assert page.body.count('href="/changes/') == 1
    assert 'href="/changes/c-1"' in page.body


def test_the_inbox_sorts_all_that_goes_on_by_what_it_needs(wires, browser):
    for number, state in enumerate(STATES, 1):
        placed(wires, state, number)
    failed(wires, 6)
    finding = DriftFinding("root-7", "default", False, DriftState.DRIFTED, drifted_since=NOW)
    wires.drifts.save(replace(any_drift(), repository=REPOSITORY, findings=(finding,)))
    locked = placed(wires, State.QUEUED, 8)
    head, _ = wires.queues.read(locked.queue)
    wires.queues.commit(head, replace(head, lock=any_lock(reason="Quarter end")))
    wires.queues.keep_locks(RepositoryLocks(REPOSITORY).with_lock(replace(any_lock(), scope="prod")))
    page = parts(browser.get("/"))
    assert list(page) == ["Needs you", "Running", "Failed", "Drifted", "Locked", "Recently deployed"]
    assert all(name in page["Needs you"] for name in ("Change 1", "Change 2"))
    assert "Change 3" in page["Running"]
    assert "Change 6" in page["Failed"]
    assert "root-7" in page["Drifted"]
    assert all(word in page["Locked"] for word in ("root-8", "Quarter end", "stack prod"))
    assert "2 deployments wait" in page["Locked"]
    assert "Change 5" in page["Recently deployed"]


def test_what_waits_longest_comes_first_with_what_its_plan_changes(wires, browser):
    placed(wires, State.AWAITING_REVIEW, 1, changed_at=NOW.replace(hour=7))
    placed(wires, State.AWAITING_REVIEW, 2, changed_at=NOW.replace(hour=6))
    needs = parts(browser.get("/"))["Needs you"]
    assert needs.index("Change 2") < needs.index("Change 1")
    assert "2 to add" in needs
    assert "3 h" in needs


def test_what_one_may_not_decide_waits_for_other_people(wires, browser):
    rule = ReviewRule(exclude_authors=True)
    placed(wires, State.AWAITING_REVIEW, 1, authors=("reviewer",), review_rule=rule)
    page = parts(browser.get("/"))
    assert "Nothing waits for your decision" in page["Needs you"]
    assert "Change 1" in page["Waiting for other people"]
    reader = parts(Client(wires).sign_in("reader").get("/"))
    assert "Change 1" in reader["Waiting for other people"]


def test_a_failed_root_that_runs_again_is_not_failed_any_more(wires, browser):
    one = failed(wires, 1)
    placed(wires, State.PLANNING, 2, root=one.root)
    assert list(parts(browser.get("/"))) == ["Needs you", "Running"]


def test_nobody_sees_what_they_may_not_read(wires):
    placed(wires, State.AWAITING_REVIEW, 1)
    failed(wires, 2)
    page = Client(wires).sign_in("visitor").get("/")
    assert "Change" not in page.text
    assert "A repository appears here" in page.text


def test_an_inbox_without_anything_says_what_to_do(browser):
    assert "Merge a change to a root" in browser.get("/").text


@pytest.mark.parametrize("path", ["/", "/search?q=root", "/deployments", "/clusters", "/insights", "/environments"])
def test_a_page_over_everything_takes_at_most_fifteen_reads(wires, path):
    for number in range(40):
        wires.repository_index.remember(KnownRepository(f"acme/repo-{number:02}", "main", "0" * 40, NOW))
    for number in range(300):
        state, home = STATES[number % len(STATES)], f"acme/repo-{number % 40:02}"
        wires.deployed(amended(deployment_in(state, number), repository=home, root=any_root(name=f"root-{number}")))
    calls = []
    wires.put(**{name: Counted(getattr(wires, name), calls) for name in STORES})
    assert Client(wires).sign_in("reviewer").get(path).status == 200
    assert sum(reads for _, reads in calls) <= 15
