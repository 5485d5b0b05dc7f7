"""What the pages show, and what their forms do."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest

from tests.api.calls import prepare
from tests.api.scenario import QUEUE, Client, lock
from tests.builders import (
    NOW,
    PLAN_TEXT,
    REPOSITORY,
    amended,
    any_deployed,
    any_deployment,
    any_job,
    any_lock,
    any_plan,
    any_queue,
    deployment_in,
)
from tests.instants import utc
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Audited, Step
from tidegate.deploys.rules.waiting import Approval
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import Enrolled, KnownRepository, LogChunk, PublishedCheckRun
from tidegate.rules.timestamp import LONG_AGO
from tidegate.vcs.rules.headline import Headline

AVATARS = "https://avatars.githubusercontent.com"
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x1b]8;;javascript:alert(3)\x07"


def test_the_page_of_repositories_lists_what_one_may_read(wires, browser):
    assert REPOSITORY in browser.get("/repositories").text
    wires.forge.writers.clear()
    assert REPOSITORY not in Client(wires).sign_in("visitor").get("/").text


def test_where_nothing_is_yet_the_page_says_what_to_do(wires):
    page = Client(wires).sign_in("visitor").get("/")
    assert "Install the App on a repository" in page.text
    assert "No roots yet" in Client(wires).sign_in("reader").get(f"/repositories/{REPOSITORY}").text


def test_a_repository_shows_its_roots_with_state_lock_and_deployed_revision(wires, browser):
    wires.deployed()
    head, _ = wires.queues.read(any_queue())
    wires.queues.commit(head, replace(head, lock=any_lock(by="operator"), deployed=any_deployed(9)))
    text = browser.get(f"/repositories/{REPOSITORY}").text
    assert "network" in text
    assert "0000000" in text
    assert "operator" in text


def test_a_queue_shows_who_waits_in_which_place_and_why(wires, browser):
    wires.deployed()
    wires.deployed(any_deployment(2, trigger=Trigger.MANUAL, requested_by="operator"))
    lock(wires, by="operator", reason="Deployed by hand.")
    text = browser.get(QUEUE).text
    assert "Locked by operator" in text
    assert "Deployed by hand." in text
    assert "blocked by a lock" in text
    assert text.index("manual by operator") < text.index("merge by maintainer")


def test_a_queue_is_unlocked_with_its_button(wires, browser):
    wires.deployed()
    lock(wires)
    answer = browser.post_form("/queue/unlock", csrf=browser.form_token(), repository=REPOSITORY, root="network")
    assert answer.status == 303
    assert wires.queues.read(any_queue())[0].lock is None
    assert "The queue is unlocked." in browser.get(answer.headers["location"]).text
    again = browser.post_form("/queue/unlock", csrf=browser.form_token(), repository=REPOSITORY, root="network")
    assert "already unlocked" in browser.get(again.headers["location"]).text


def test_who_may_only_read_is_offered_no_buttons(wires):
    names = prepare(wires)
    lock(wires)
    client = Client(wires).sign_in("reader")
    assert ">Unlock<" not in client.get(QUEUE).body
    page = client.get(f"/deployments/{names['id']}")
    assert ">Approve<" not in page.body
    assert "reader needs write access" in page.text


@pytest.mark.parametrize("path", ["/queue", QUEUE.replace("network", "nothing"), "/queue?repository=acme/none&root=a"])
def test_a_queue_that_is_none_is_not_found(browser, path):
    assert browser.get(path).status in {400, 404}


def test_a_root_that_is_none_is_not_found_and_the_nearest_name_is_told(wires, browser):
    wires.deployed()
    client = Client(wires, "token-of-reader")
    for answer in (
        browser.get(QUEUE.replace("network", "netwrok")),
        client.get("/api/v1" + QUEUE.replace("work", "wrok")),
    ):
        assert answer.status == 404
        assert "'netwrok' does not exist" in html.unescape(answer.body)
        assert "Did you mean 'network'?" in html.unescape(answer.body)
    assert "Did you mean" not in client.get("/api/v1" + QUEUE.replace("network", "xyz")).body
    assert client.get("/api/v1" + QUEUE).status == 200


def test_a_deployment_shows_its_whole_story(wires, browser):
    steps = (Step(State.QUEUED, NOW), Step(State.PLANNING, NOW), Step(State.APPLIED, NOW, "reviewer", "As reviewed."))
    one = deployment_in(State.APPLIED, history=steps, audited=(Audited("event-7", "SUCCESS", NOW),), authors=("dev",))
    changes = PlannedChanges(add=2, change=1, destroy=1, replace=1, destroyed=("aws_vpc.old",), replaced=("aws_eip.a",))
    one = wires.deployed(
        replace(one, planned=replace(one.planned, plan=any_plan(job=f"{one.id}-plan-1", changes=changes)))
    )
    wires.artifacts.put(one.planned.plan.text.key, PLAN_TEXT)
    wires.check_runs.remember(PublishedCheckRun(one.id, 42, 1, closed=True))
    page = browser.get(f"/deployments/{one.id}")
    for words in (
        "Applied",
        "2 to add, 1 to change, 1 to destroy, 1 to replace",
        "destroy aws_vpc.old",
        "As reviewed.",
        "SUCCESS event-7",
        "by reviewer",
        "terraform 1.11.4",
        "+ resource",
        one.planned.plan.file.sha256,
    ):
        assert words in page.text
    for link in (f"/jobs/{one.id}-plan-1", f"/jobs/{one.apply.job}", f"/{REPOSITORY}/runs/42", "/commit/"):
        assert link in page.body


def named(wires, **told):
    """Store a deployment that tells what its change is."""
    headline = Headline("Merge branch 'grow'", "developer", f"{AVATARS}/u/1", 7, "Grow it")
    return wires.deployed(amended(any_deployment(), headline=replace(headline, **told), change_set="c-1"))


def test_a_change_is_called_by_its_pull_request_wherever_it_is_shown(wires, browser):
    one = named(wires)
    wires.change_sets.enroll("c-1", [Enrolled(one.root.name, one.stack, one.id, one.request.at)])
    for path in (f"/deployments/{one.id}", "/changes/c-1", QUEUE, f"/repositories/{REPOSITORY}/deployments"):
        page = browser.get(path)
        assert "Grow it" in page.text, path
        assert "#7" in page.text, path
    for path in (f"/deployments/{one.id}", "/changes/c-1"):
        page = browser.get(path)
        assert "developer" in page.text
        assert 'src="https://avatars.githubusercontent.com/u/1"' in page.body
        assert f'href="/pulls/{REPOSITORY}/7"' in page.body
    ids = browser.get(f"/deployments/{one.id}").body.split("<details")[-1]
    assert one.id in ids
    assert one.revision.sha in ids


def test_a_picture_from_elsewhere_is_not_shown(wires, browser):
    one = named(wires, avatar="https://avatars.githubusercontent.com.example/u/1")
    assert "avatars.githubusercontent.com.example" not in browser.get(f"/deployments/{one.id}").body


def test_a_page_of_what_has_ended_does_not_ask_again(wires, browser):
    over, waits = wires.deployed(deployment_in(State.APPLIED)), wires.deployed(deployment_in(State.AWAITING_REVIEW, 2))
    assert "data-live" not in browser.get(f"/deployments/{over.id}").body
    assert "data-live" in browser.get(f"/deployments/{waits.id}").body


def test_a_plan_is_approved_and_another_press_is_told_why_it_does_nothing(wires, browser):
    names = prepare(wires)
    path = f"/deployments/{names['id']}"
    seen = wires.deployments.get(names["id"]).planned.plan.file.sha256
    answer = browser.post_form(f"{path}/review", csrf=browser.form_token(), decision="approve", plan_digest=seen)
    assert (answer.status, answer.headers["location"]) == (303, f"{path}?done=approve")
    assert wires.deployments.get(names["id"]).review.approved is True
    assert "Your approval is recorded." in browser.get(answer.headers["location"]).text
    again = browser.post_form(f"{path}/review", csrf=browser.form_token(), decision="reject")
    assert again.status == 409
    assert "reviewer" in again.text


@pytest.mark.parametrize(
    "done", ["approve", "reject", "retried", "gate-rejected", "approved-here", "overridden", "cancelled", "nonsense"]
)
def test_a_link_cannot_claim_what_nobody_did(wires, browser, done):
    one = wires.deployed(deployment_in(State.APPLYING))
    assert 'class="notice"' not in browser.get(f"/deployments/{one.id}?done={done}").body


def test_a_link_cannot_claim_a_lock(wires, browser):
    wires.deployed()
    for path in (f"{QUEUE}&done=locked", f"/repositories/{REPOSITORY}?done=locked"):
        assert 'class="notice"' not in browser.get(path).body


def test_the_title_of_a_queue_follows_its_state(wires, browser):
    def title():
        return re.search("<title>(.*?)</title>", browser.get(QUEUE).body)[1]

    wires.deployed()
    assert title() == "Queue of network · Idle, 1 waiting · Tidegate"
    head, _ = wires.queues.read(any_queue())
    wires.queues.commit(head, replace(head, lock=any_lock()))
    assert title() == "Queue of network · Idle, 1 waiting, locked · Tidegate"


@pytest.mark.parametrize("state", [State.APPLY_FAILED, State.OUTCOME_UNKNOWN])
def test_what_failed_was_attempted_and_not_deployed(wires, browser, state):
    wires.deployed()
    head, _ = wires.queues.read(any_queue())
    wires.queues.commit(head, replace(head, deployed=replace(any_deployed(9), state=state)))
    assert "Attempted: 0000000" in browser.get(QUEUE).text
    assert "0000000 attempted" in browser.get(f"/repositories/{REPOSITORY}").text


def test_a_review_shows_who_has_approved_so_far(wires, browser):
    one = deployment_in(State.AWAITING_REVIEW, review_rule=ReviewRule(approvals=2, exclude_authors=True))
    one = wires.deployed(replace(one, review=replace(one.review, approvals=(Approval("first", NOW),))))
    text = browser.get(f"/deployments/{one.id}").text
    assert "1 of 2 approvals so far: first." in text
    assert "may not approve it" in text


def test_those_who_made_the_change_are_not_offered_to_approve_it_where_that_is_excluded(wires, browser):
    rule = ReviewRule(exclude_authors=True)
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW, review_rule=rule, authors=("Reviewer",)))
    body = browser.get(f"/deployments/{one.id}").body
    assert (">Approve<" in body, ">Reject<" in body) == (False, True)


@pytest.mark.parametrize("decision", ["", "apply", "APPROVE"])
def test_an_answer_that_is_none_changes_nothing(wires, browser, decision):
    names = prepare(wires)
    answer = browser.post_form(f"/deployments/{names['id']}/review", csrf=browser.form_token(), decision=decision)
    assert answer.status == 400
    assert wires.deployments.get(names["id"]).state is State.AWAITING_REVIEW


@pytest.mark.parametrize(
    ("state", "told"),
    [
        (State.PLAN_FAILED, "The next revision of this root"),
        (State.APPLY_FAILED, "Correct the cause and merge the fix, or re-run its check."),
        (State.ENGINE_FAULT, "Re-run its check, or merge the next revision of this root,"),
    ],
)
def test_the_page_of_a_failed_deployment_says_what_to_do_next(wires, browser, state, told):
    one = wires.deployed(deployment_in(state))
    assert told in browser.get(f"/deployments/{one.id}").text


def test_a_plan_that_was_altered_is_not_shown(wires, browser):
    one = wires.deployed(deployment_in(State.AWAITING_REVIEW))
    wires.artifacts.put(one.planned.plan.text.key, b"No changes. Really.")
    page = browser.get(f"/deployments/{one.id}")
    assert "Really" not in page.text
    assert "The stored plan was changed after" in page.text
    assert (">Approve<" in page.body, ">Reject<" in page.body) == (False, True)


def test_a_plan_that_was_altered_cannot_be_approved(wires, browser, reviewer):
    names = prepare(wires)
    wires.artifacts.put(wires.deployments.get(names["id"]).planned.plan.text.key, b"No changes. Really.")
    given = {"decision": "approve", "plan_digest": wires.deployments.get(names["id"]).planned.plan.file.sha256}
    clicked = browser.post_form(f"/deployments/{names['id']}/review", csrf=browser.form_token(), **given)
    called = reviewer.post_json(f"/api/v1/deployments/{names['id']}/review", given)
    assert (clicked.status, called.status) == (409, 409)
    assert "was modified" in called.json["error"]["message"]
    assert wires.deployments.get(names["id"]).review.approved is None


def test_a_plan_that_nobody_saw_is_not_approved(wires, browser, reviewer):
    names = prepare(wires)
    for seen in ({}, {"plan_digest": "0" * 64}):
        clicked = browser.post_form(
            f"/deployments/{names['id']}/review", csrf=browser.form_token(), decision="approve", **seen
        )
        called = reviewer.post_json(f"/api/v1/deployments/{names['id']}/review", {"decision": "approve", **seen})
        assert (clicked.status, called.status) == (409, 409)
    assert wires.deployments.get(names["id"]).review.approvals == ()


def test_nothing_that_comes_from_outside_is_markup(wires, browser):
    steps = (Step(State.QUEUED, NOW), Step(State.PLANNING, NOW, HOSTILE, HOSTILE))
    told = Headline(HOSTILE, HOSTILE, f"{AVATARS}/{HOSTILE}", 7, HOSTILE)
    changes = PlannedChanges(destroy=1, destroyed=(HOSTILE,))
    one = deployment_in(State.AWAITING_REVIEW, reason=HOSTILE, history=steps, authors=(HOSTILE,), last_lines=HOSTILE)
    one = replace(
        one,
        planned=replace(one.planned, must_review=HOSTILE, plan=replace(one.planned.plan, changes=changes)),
        request=replace(one.request, by=HOSTILE, headline=told),
        error=HOSTILE,
    )
    one = wires.deployed(one)
    lock(wires, by=HOSTILE, reason=HOSTILE, deployment=one.id)
    wires.job_logs.append(f"{one.id}-plan-1", LogChunk(0, (HOSTILE,)))
    for path in ("/", f"/repositories/{REPOSITORY}", QUEUE, f"/deployments/{one.id}", f"/jobs/{one.id}-plan-1"):
        page = browser.get(path)
        assert page.status == 200
        assert "<script>alert" not in page.body
        assert "<img src=x" not in page.body
        assert "\x1b" not in page.body


def test_every_answer_forbids_what_pages_do_not_need(wires, browser):
    for path in ("/", "/nope", "/static/log.js", "/api/v1/nope", "/login"):
        headers = browser.get(path).headers
        allowed = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert allowed["default-src"] == "'none'"
        assert allowed["img-src"] == "'self' https://avatars.githubusercontent.com"
        assert {allowed[kind] for kind in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
        assert headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in headers["content-security-policy"]
    assert "no-store" in browser.get("/").headers["cache-control"]


def test_no_page_holds_a_script_or_style_of_its_own(wires, browser):
    names = prepare(wires)
    for path in ("/", QUEUE, f"/deployments/{names['id']}", f"/jobs/{names['job']}"):
        body = browser.get(path).body
        assert "<style" not in body
        assert " style=" not in body
        assert " onclick=" not in body
        assert all("src=" in part.partition(">")[0] for part in body.split("<script")[1:])


def test_static_files_are_kept_by_browsers_until_they_change(browser):
    style = browser.get("/static/app.css")
    assert (style.status, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "immutable" in style.headers["cache-control"]
    assert browser.get("/static/..%2frendering.py").status == 404
    assert browser.get("/static/rendering.py").status == 404


def test_errors_have_pages(wires, browser):
    assert "Not found" in browser.get("/nope").text
    names = prepare(wires)
    wires.forge.writers.clear()
    wires.forge.readers.add("reviewer")
    refused = browser.post_form(f"/deployments/{names['id']}/review", csrf=browser.form_token(), decision="approve")
    assert (refused.status, "Not allowed" in refused.text) == (403, True)


def test_what_is_our_fault_is_said_without_its_secrets(wires, browser):
    def broken(*_):
        raise RuntimeError("the password is hunter2")

    wires.repository_index.repositories = broken
    answer = browser.get("/")
    assert answer.status == 500
    assert "hunter2" not in answer.body
    assert Client(wires, "token-of-reader").get("/api/v1/repositories").json["error"]["code"] == "fault"


def test_a_head_request_is_answered_without_a_body(browser):
    answer = browser.send("HEAD", "/static/app.css")
    assert (answer.status, answer.body) == (200, "")


def test_ten_thousand_deployments_are_listed_page_by_page_with_three_reads(wires):
    calls = []

    class Counting:
        def __init__(self, port):
            self.port = port

        def __getattr__(self, name):
            calls.append(name)
            return getattr(self.port, name)

    for number in range(10_000):
        wires.deployments.add(any_deployment(number, requested_at=utc(f"2026-03-02T08:00:00.{number:06}")))
    wires.put(**{name: Counting(getattr(wires, name)) for name in ("repository_index", "deployments", "queues")})
    client = Client(wires).sign_in("reader")
    first = client.get(f"/repositories/{REPOSITORY}/deployments")
    assert calls == ["repository", "of_repository", "many"]
    older = first.body.split('rel="next" href="')[1].partition('"')[0].replace("&amp;", "&")
    calls.clear()
    second = client.get(older)
    assert calls == ["repository", "of_repository", "many"]
    assert (".009999+" in first.body, ".009999+" in second.body) == (True, False)
    assert first.body.count("/deployments/infra-network-") == second.body.count("/deployments/infra-network-") == 30
    assert client.get(f"/repositories/{REPOSITORY}/deployments?after=rubbish").status == 404


def test_what_is_too_large_to_be_shown_is_refused_with_a_page(wires, browser):
    wires.repository_index.repositories = lambda: [KnownRepository("acme/" + "x" * 7_000_000, "main", "0" * 40, NOW)]
    refused = browser.get("/repositories")
    assert (refused.status, "The response is too large. Request" in refused.text) == (413, True)


def test_a_page_that_is_not_there_says_who_is_signed_in(browser, stranger):
    for path in ("/deployments/none", "/nowhere"):
        assert "You are signed in as reviewer" in browser.get(path).text
    assert "signed in as" not in stranger.get("/nowhere").text


def test_the_log_of_a_plan_says_whose_state_it_shows(wires, browser):
    one = wires.deployed(deployment_in(State.APPLIED))
    job = any_job(id=f"{one.id}-plan-1", deployment=one.id)
    wires.jobs.create(job)
    assert "The deployment : applied" in browser.get(f"/jobs/{job.id}").text


def test_the_first_page_leads_to_all_pull_requests_and_drift(wires, browser):
    page = browser.get("/")
    assert 'href="/pulls"' in page.body
    assert 'href="/drift"' in page.body


def test_a_repository_without_a_push_says_so(wires, browser):
    wires.repository_index.remember(KnownRepository("acme/new", "main", "", LONG_AGO))
    text = browser.get("/repositories").text
    assert "acme/new main: no push received yet" in text
    assert "1970" not in text
