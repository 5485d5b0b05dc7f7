"""Locking stacks and whole repositories, by the API and on pages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.scenario import QUEUE
from tests.builders import REPOSITORY, any_deployed, any_deployment
from tidegate.deploys.rules.request import Trigger

PAGE = f"/repositories/{REPOSITORY}"
ROOTS = f"/api/v1{PAGE}/roots"
PROD = {"repository": REPOSITORY, "stack": "prod"}


@pytest.fixture(autouse=True)
def waiting(wires):
    """A merge that waits, of a root of the stack prod that another one was deployed to."""
    one, other = (wires.deployed(any_deployment(number, stack="prod", trigger=Trigger.MERGE)) for number in (1, 2))
    head, first = wires.queues.read(one.queue)
    attempted = replace(any_deployed(), deployment=one.id)
    wires.queues.commit(head, replace(head, attempted=attempted), take=first)
    return other


def test_a_stack_is_locked_for_a_time_and_unlocked(reviewer, reader):
    answer = reviewer.post_json("/api/v1/locks", {**PROD, "reason": "Audit", "duration": "2h"})
    assert (answer.status, "locked stack prod" in answer.json["message"]) == (200, True)
    listed = reader.get(ROOTS).json
    (made,) = listed["locks"]
    assert (made["scope"], made["reason"], bool(made["expires_at"])) == ("prod", "Audit", True)
    assert listed["roots"][0]["lock"]["scope"] == "prod"
    assert reviewer.post_json("/api/v1/locks", {**PROD, "reason": "Another"}).status == 409
    assert reviewer.post_json("/api/v1/locks/remove", PROD).json["unlocked"]
    assert not reviewer.post_json("/api/v1/locks/remove", PROD).json["unlocked"]
    assert reader.get(ROOTS).json["locks"] == []


def test_all_roots_are_locked_without_a_stack(reviewer, reader):
    assert reviewer.post_json("/api/v1/locks", {"repository": REPOSITORY}).status == 200
    assert [each["scope"] for each in reader.get(ROOTS).json["locks"]] == ["*"]


def test_who_may_only_read_locks_nothing(reader):
    for path in ("/api/v1/locks", "/api/v1/locks/remove"):
        assert reader.post_json(path, PROD).status == 403
    assert reader.post_form("/locks", repository=REPOSITORY).status >= 400


def test_a_stack_that_there_is_not_is_not_locked(reviewer):
    for path in ("/api/v1/locks", "/api/v1/locks/remove"):
        refused = reviewer.post_json(path, {**PROD, "stack": "prood"})
        assert (refused.status, "Did you mean 'prod'?" in refused.json["error"]["message"]) == (404, True)


def test_a_time_that_cannot_be_read_is_refused_with_what_to_write(reviewer):
    for path, asked in (("/api/v1/locks", PROD), ("/api/v1/queue/lock", {"repository": REPOSITORY, "root": "network"})):
        refused = reviewer.post_json(path, {**asked, "duration": "1w"})
        assert (refused.status, "such as 90m, 2h or 3d" in refused.json["error"]["message"]) == (400, True)


def test_pages_lock_and_unlock(browser):
    token = browser.form_token(PAGE)
    done = browser.post_form(
        "/locks", repository=REPOSITORY, stack="prod", reason="Audit <b>", duration="2h", csrf=token
    )
    assert done.status == 303
    for path in (PAGE, QUEUE):
        assert "Stack prod locked by" in browser.get(path).text
        assert "Audit &lt;b&gt;" in browser.get(path).body
    assert "Blocked by a lock" in browser.get(PAGE).text
    again = browser.post_form("/locks", repository=REPOSITORY, stack="prod", csrf=token)
    assert again.status == 409
    browser.post_form("/locks/remove", repository=REPOSITORY, stack="prod", csrf=token)
    assert "locked by" not in browser.get(PAGE).text


def test_the_page_of_a_queue_locks_it(browser):
    token = browser.form_token(QUEUE)
    form = {"repository": REPOSITORY, "root": "network", "csrf": token}
    assert browser.post_form("/queue/lock", **form, duration="soon").status == 400
    assert browser.post_form("/queue/lock", **form, reason="Audit", duration="2h").status == 303
    assert "Audit" in browser.get(QUEUE).text
    assert browser.post_form("/queue/lock", **form, reason="Another").status == 409
