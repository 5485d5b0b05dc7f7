"""Pull requests on pages and by the API, and the logs of their plans."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.api.scenario import Client
from tests.builders import (
    NOW,
    REPOSITORY,
    any_deployment,
    any_job,
    any_layer,
    any_plan,
    any_pull_request,
    any_pull_request_record,
    deployment_in,
    sha,
)
from tests.instants import utc
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicySetStatus, PolicyVerdict, RuleChanges, Severity
from tidegate.ports import KnownRepository, LogChunk
from tidegate.pull_requests.rules.record import Applying, LetPass, PullRequestVerdict, VerdictKind, judged
from tidegate.roots.rules.root import Revision, Root
from tidegate.rules.timestamp import timestamp_text
from tidegate.vcs.rules.check_run import Conclusion

VERDICT = PolicyVerdict("security", (PolicyFinding(Severity.DENY, "no_public", "Too <b>open</b>.", "aws_s3_bucket.a"),))


@pytest.fixture
def pull(wires):
    """A pull request with a root that is planned and refused by a policy, and one whose plan failed."""
    planned = any_layer("network", state=LayerState.PLANNED, plan=any_plan(), verdicts=(VERDICT,), why="It changes it.")
    failed = any_layer("app", state=LayerState.FAILED, reason="The plan failed.", last_lines="Error", tier=2)
    planned, failed = (replace(each, job=f"{each.id}-speculate-1") for each in (planned, failed))
    wires.speculative_plans.create([planned, failed])
    revision = any_pull_request().revision
    spec = any_pull_request(title="Grow <script>alert(1)</script>")
    record = any_pull_request_record(
        spec=spec, discovered=revision, commented=revision, layers=(planned.id, failed.id), notice="One.\nTwo <i>."
    )
    return wires.pull_requests.save(judged(record, [planned, failed], NOW)), planned, failed


def test_the_api_tells_the_conditions_in_kubernetes_form_and_each_root(pull, reader):
    _, planned, failed = pull
    answer = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json
    assert (answer["number"], answer["state"], answer["revision"], answer["closed_at"]) == (5, "Idle", sha(3), None)
    assert answer["conditions"][0] == {
        "type": "IsLastCommitDiscovered",
        "status": "True",
        "reason": "Discovered",
        "message": f"Tidegate knows which roots {sha(3)[:7]} changes.",
        "lastTransitionTime": timestamp_text(NOW),
    }
    network, app = answer["layers"]
    assert (network["root"], network["state"], network["changes"]["add"], network["why"]) == (
        "network",
        "planned",
        2,
        "It changes it.",
    )
    assert network["policies"][0]["failed"]
    assert network["policies"][0]["findings"][0]["address"] == "aws_s3_bucket.a"
    assert network["job"]["url"].endswith(f"/jobs/{planned.job}")
    assert (app["reason"], app["last_lines"], app["changes"], app["tier"]) == ("The plan failed.", "Error", None, 2)
    assert app["job"]["kind"] == "speculate"
    assert failed.job in app["job"]["url"]


def test_a_root_that_is_gone_says_what_stays_behind_and_not_what_its_plan_would_change(wires, reader, browser):
    plan = any_plan(changes=PlannedChanges(change=7, resources=12))
    left = any_layer("network", state=LayerState.NO_CHANGES, plan=plan, gone=True, why="It is taken away.")
    empty = any_layer("app", state=LayerState.NO_CHANGES, plan=any_plan(changes=PlannedChanges(resources=0)), gone=True)
    failed = any_layer("data", state=LayerState.NO_CHANGES, gone=True, reason="No credentials.")
    layers = (left, empty, failed)
    wires.speculative_plans.create(layers)
    record = any_pull_request_record(layers=tuple(each.id for each in layers), discovered=any_pull_request().revision)
    wires.pull_requests.save(judged(record, layers, NOW))
    shown = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json["layers"]
    told = [(each["gone"], each["left"], each["changes"]) for each in shown]
    assert told == [(True, 12, None), (True, 0, None), (True, None, None)]
    page = browser.get(f"/pulls/{REPOSITORY}/5").text
    for part in ("Removed", "12 resources remain", "no resources remain", "is unknown: No credentials."):
        assert part in page
    assert "tidegate destroy -p network" in page
    assert "No changes" not in page


def test_lists_of_pull_requests_show_stacks_and_are_searched_by_them(wires, reader, browser):
    for number, stack in ((5, "prod"), (6, "dev")):
        layer = any_layer(f"network-{number}", stack=stack, tags=("team:sre",) if number == 5 else ())
        wires.speculative_plans.create([layer])
        spec = any_pull_request(number, title=f"Change {stack}")
        wires.pull_requests.save(any_pull_request_record(spec=spec, layers=(layer.id,), stacks=(stack,)))
    for query in ("stack_name:prod", "team:sre", "root:network-5"):
        found = reader.get(f"/api/v1/pulls?query={query}").json["pull_requests"]
        assert [(each["number"], each["stacks"]) for each in found] == [(5, ["prod"])]
        page = browser.get(f"/pulls?repository={REPOSITORY}&query={query}")
        assert "Change prod" in page.text
        assert "Change dev" not in page.text
    assert "Change dev" in browser.get("/pulls").text
    assert "Did you mean stack_name:prod?" in reader.get("/api/v1/pulls?query=stack_name:prood").json["hint"]


def test_a_layer_that_is_gone_is_left_out(wires, pull, reader):
    record, planned, failed = pull
    wires.speculative_plans.remove([planned.id])
    answer = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json
    assert [layer["id"] for layer in answer["layers"]] == [failed.id]
    assert record.layers == (planned.id, failed.id)


def test_a_root_that_waits_for_a_free_place_says_behind_what(wires, browser, reader):
    layers = [any_layer("network", state=LayerState.PLANNING), any_layer("app")]
    wires.speculative_plans.create(layers)
    record = any_pull_request_record(layers=tuple(each.id for each in layers), discovered=any_pull_request().revision)
    wires.pull_requests.save(judged(record, layers, NOW))
    wires.plan_slots.take(REPOSITORY, layers[0].id, 1)
    wires.plan_slots.join(REPOSITORY, layers[1].id)
    reason = "Waiting for a concurrency slot, next in the queue: 1 plan of the repository is running, of #5."
    shown = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json["layers"]
    assert [each["reason"] for each in shown] == ["", reason]
    assert reason in browser.get(f"/pulls/{REPOSITORY}/5").body


def test_open_pull_requests_are_listed_newest_first(wires, pull, reader):
    wires.pull_requests.save(any_pull_request_record(6, opened_at=utc("2026-03-03T08:00")))
    wires.pull_requests.save(any_pull_request_record(7, closed_at=NOW))
    wires.pull_requests.save(any_pull_request_record(spec=any_pull_request(8, repository="acme/other")))
    listed = reader.get(f"/api/v1/pulls?repository={REPOSITORY}").json
    assert [each["number"] for each in listed["pull_requests"]] == [6, 5]
    assert listed["unchecked"] == 0


def test_without_a_repository_those_of_all_that_one_may_read_are_listed(wires, pull, reader):
    wires.pull_requests.save(any_pull_request_record(spec=any_pull_request(8, repository="acme/other")))
    assert [each["number"] for each in reader.get("/api/v1/pulls").json["pull_requests"]] == [5]
    wires.repository_index.remember(KnownRepository("acme/other", "main", "0" * 40, NOW))
    assert {each["number"] for each in reader.get("/api/v1/pulls").json["pull_requests"]} == {5, 8}


def test_the_page_shows_what_a_merge_would_do_and_leads_to_the_logs(pull, browser):
    _, planned, failed = pull
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert page.status == 200
    assert "author asks to merge feature into main" in page.text
    assert "1 of 2 planned, 1 failed" in page.text
    assert "security: fails" in page.text
    assert "The plan failed." in page.text
    assert "IsCommentUpToDate True UpToDate" in page.text
    for layer in (planned, failed):
        assert f'href="/jobs/{layer.job}"' in page.body
    assert "/acme/infra/pull/5" in page.body
    assert "data-live" not in page.body


def test_on_gitlab_a_title_stays_as_it_is_beside_the_sign_of_gitlab(wires, pull, reader):
    wires.put({"TIDEGATE_FORGE": "gitlab", "TIDEGATE_FORGE_URL": "https://gitlab.example"})
    record, _, _ = pull
    wires.pull_requests.save(replace(record, spec=replace(record.spec, title="The pull request #5")))
    of_it = wires.deployed(any_deployment(pull_request=5))
    one, listed = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json, reader.get(f"/api/v1/deployments/{of_it.id}").json
    assert (one["reference"], one["title"], listed["pull_request_reference"]) == ("!5", "The pull request #5", "!5")
    browser = Client(wires).sign_in("reviewer")
    assert "!5 The pull request #5" in browser.get("/pulls").text
    assert "The App" not in browser.get("/").text


def test_titles_and_notices_are_text_on_the_pages(pull, browser):
    for path in (f"/pulls/{REPOSITORY}/5", "/pulls", f"/pulls?repository={REPOSITORY}"):
        body = browser.get(path).body
        assert "<script>alert" not in body
        assert "Grow &lt;script&gt;" in body
    assert "Two &lt;i&gt;." in browser.get(f"/pulls/{REPOSITORY}/5").body


def test_changed_rules_and_who_must_approve_them_are_told_by_page_and_api(wires, pull, reader, browser):
    record, *_ = pull
    owners = (PolicySetStatus("rights", owners=("team:security",), approvals=2),)
    changed = RuleChanges(("access_control <b>", "workflows.apply"), owners)
    wires.pull_requests.save(replace(record, rule_changes=changed))
    one = reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json
    assert one["rule_changes"] == ["access_control <b>", "workflows.apply"]
    assert [(each["name"], each["approvals"]) for each in one["policy_sets"]] == [("security", 1), ("rights", 2)]
    page = browser.get(f"/pulls/{REPOSITORY}/5").body
    assert "<code>access_control &lt;b&gt;</code>, <code>workflows.apply</code>" in page
    assert "2 of team:security for policy set rights" in page


def test_a_page_follows_a_pull_request_that_is_worked_on(wires, browser):
    record = any_pull_request_record(spec=any_pull_request(is_draft=True))
    saved = wires.pull_requests.save(judged(record, (), NOW))
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert "data-live" in page.body
    assert "Finding changed roots" in page.text
    assert " draft " in page.text
    wires.pull_requests.save(replace(saved, closed_at=NOW, merged=True))
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert "data-live" not in page.body
    assert " merged " in page.text


def test_a_pull_request_that_affects_nothing_says_so_and_so_does_an_empty_list(wires, browser):
    assert "No open pull requests" in browser.get("/pulls").text
    revision = any_pull_request().revision
    record = any_pull_request_record(discovered=revision, commented=revision)
    wires.pull_requests.save(judged(record, (), NOW))
    assert "No root is affected" in browser.get(f"/pulls/{REPOSITORY}/5").text


def test_a_repository_leads_to_its_pull_requests(browser):
    assert f"/pulls?repository={REPOSITORY.replace('/', '%2F')}" in browser.get(f"/repositories/{REPOSITORY}").body


@pytest.mark.parametrize("number", ["6", "x", "\u0665", "9" * 20, "0"])
def test_a_pull_request_that_is_none_is_not_found(pull, browser, reader, number):
    assert browser.get(f"/pulls/{REPOSITORY}/{number}").status == 404
    assert reader.get(f"/api/v1/pulls/{REPOSITORY}/{number}").status in {404, 422}


@pytest.fixture
def job(wires, pull):
    """The job of the planned layer, with a line of its log."""
    _, planned, _ = pull
    made = any_job(JobKind.SPECULATE, id=planned.job, deployment=planned.id)
    wires.jobs.create(made)
    wires.job_logs.append(made.id, LogChunk(0, ("Plan: 2 to add",)))
    return made


def test_the_log_of_a_layers_plan_is_read_like_any_other(wires, job, browser, reader):
    page = browser.get(f"/jobs/{job.id}")
    assert page.status == 200
    assert "Plan: 2 to add" in page.text
    assert "For pull request #5" in page.text
    assert f"Plan of {sha(3)[:7]}" in page.text
    assert reader.get(f"/api/v1/jobs/{job.id}").json["kind"] == "speculate"
    assert reader.get(f"/api/v1/jobs/{job.id}/log").json["lines"] == ["Plan: 2 to add"]
    assert browser.get(f"/jobs/{job.id}/raw").body == "Plan: 2 to add\n"
    wires.speculative_plans.remove([job.deployment])
    assert browser.get(f"/jobs/{job.id}").status == 404


def test_a_log_that_is_still_written_is_followed(wires, job, reader):
    layer = wires.speculative_plans.get(job.deployment)
    wires.speculative_plans.save(replace(layer, state=LayerState.PLANNING))
    assert reader.get(f"/api/v1/jobs/{job.id}/log").json["state"] == "running"


def test_the_log_of_a_plan_of_a_repository_that_one_may_not_read_is_hidden(wires, job, reader):
    wires.forge.readers.clear()
    assert reader.get(f"/api/v1/jobs/{job.id}/log").status == 404


def test_the_verdict_stands_in_lists_and_on_the_page(wires, pull, browser, reader):
    record, *_ = pull
    listed = reader.get("/api/v1/pulls").json["pull_requests"][0]
    assert (listed["verdict"], listed["outdated"]) == (None, False)
    title = "1 failed; blocked by 1 policy set"
    verdict = PullRequestVerdict(title, Conclusion.FAILURE, VerdictKind.FAILED, ("security",))
    wires.pull_requests.save(replace(record, verdict=verdict))
    shown = {"conclusion": "failure", "kind": "failed", "title": title, "blocking": ["security"]}
    assert reader.get("/api/v1/pulls").json["pull_requests"][0]["verdict"] == shown
    for path in ("/pulls", f"/pulls/{REPOSITORY}/5"):
        assert " Failed " in browser.get(path).text
        assert verdict.title in browser.get(path).text
        assert "Up to date" not in browser.get(path).text


@pytest.mark.parametrize(
    ("conclusion", "kind", "tone", "word"),
    [
        (Conclusion.SUCCESS, VerdictKind.PASSED, "good", "Passed"),
        (Conclusion.FAILURE, VerdictKind.CONFLICT, "bad", "Merge conflict"),
        (Conclusion.FAILURE, VerdictKind.REFUSED, "bad", "Refused"),
        (Conclusion.FAILURE, VerdictKind.HELD_UP, "bad", "Blocked"),
        (Conclusion.FAILURE, VerdictKind.INCOMPLETE, "bad", "Partly planned"),
        (Conclusion.FAILURE, VerdictKind.NOT_PLANNED, "bad", "Not planned"),
        (Conclusion.NEUTRAL, VerdictKind.NOT_PLANNED, "quiet", "Not planned"),
        (Conclusion.ACTION_REQUIRED, VerdictKind.WITH_OPTIONS, "attention", "No verdict"),
    ],
)
def test_each_verdict_has_a_word_and_a_colour(wires, pull, browser, conclusion, kind, tone, word):
    wires.pull_requests.save(replace(pull[0], verdict=PullRequestVerdict("Everything is applied", conclusion, kind)))
    page = browser.get("/pulls").text
    assert word in page
    assert "Everything is applied" in page
    assert f'class="state {tone}"' in browser.get(f"/pulls/{REPOSITORY}/5").body.partition("</h1>")[2][:200]


def test_a_verdict_that_only_says_the_state_is_said_once_in_the_list(wires, pull, browser):
    verdict = PullRequestVerdict("Not planned", Conclusion.FAILURE, VerdictKind.NOT_PLANNED)
    wires.pull_requests.save(replace(pull[0], verdict=verdict))
    assert browser.get("/pulls").text.count("Not planned") == 1


def test_a_merge_conflict_is_said_once(wires, pull, browser, reader):
    for each in pull[1:]:
        known = wires.speculative_plans.get(each.id)
        failed = replace(known, state=LayerState.FAILED, plan=None, verdicts=(), last_lines="")
        wires.speculative_plans.save(replace(failed, conflict=True, reason="Both change a.tf."))
    page = browser.get(f"/pulls/{REPOSITORY}/5").text
    assert page.count("Both change a.tf.") == 1
    assert page.count("merge conflict") == page.count("Not planned") == 2
    assert "Failed plans" not in page
    assert "2 failed" not in page
    assert [each["conflict"] for each in reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json["layers"]] == [True, True]


def test_a_verdict_on_older_commits_is_not_shown(wires, pull, browser, reader):
    record, *_ = pull
    verdict = PullRequestVerdict("Everything is applied", Conclusion.SUCCESS, VerdictKind.PASSED)
    pushed = replace(record, verdict=verdict, discovered="", commented="")
    wires.pull_requests.save(judged(pushed, (), NOW))
    assert reader.get("/api/v1/pulls").json["pull_requests"][0]["verdict"] is None
    assert "Everything is applied" not in browser.get("/pulls").text


def test_a_pull_request_whose_base_moved_on_says_so(wires, pull, browser, reader):
    wires.pull_requests.save(replace(pull[0], overtaken=("network",), base_now=sha(9)))
    assert reader.get(f"/api/v1/pulls/{REPOSITORY}/5").json["outdated"]
    assert f"Out of date: main has moved on to {sha(9)[:7]}" in browser.get(f"/pulls/{REPOSITORY}/5").text


def test_the_page_says_who_lets_a_policy_set_pass(wires, pull, browser, reader):
    record, planned, _ = pull
    owned = PolicySetStatus("security", owners=("team:sre", "user:ann"), approvals=2)
    wires.speculative_plans.save(replace(wires.speculative_plans.get(planned.id), policy_sets=(owned,)))
    path = f"/pulls/{REPOSITORY}/5"
    assert "2 of its owners to approve this head: team:sre, user:ann." in browser.get(path).text
    assert reader.get(f"/api/v1{path}").json["policy_sets"] == [
        {"name": "security", "owners": ["team:sre", "user:ann"], "approvals": 2, "blocking": True, "approved_by": []}
    ]
    assert '<span class="tag bad">security: fails</span>' in browser.get(path).body
    verdict = PullRequestVerdict("Fine", Conclusion.SUCCESS, VerdictKind.PASSED)
    record = wires.pull_requests.save(replace(record, verdict=verdict))
    assert "Policy set security fails, but its owners approved." in browser.get(path).text
    assert not reader.get(f"/api/v1{path}").json["policy_sets"][0]["blocking"]
    by = replace(verdict, passed=(LetPass("security", ("ann", "ben")),))
    wires.pull_requests.save(replace(record, verdict=by))
    page = browser.get(path)
    assert "its owners approved: ann, ben" in page.text
    assert '<span class="tag">security: approved</span>' in page.body
    assert '<span class="tag bad">' not in page.body
    assert reader.get(f"/api/v1{path}").json["policy_sets"][0]["approved_by"] == ["ann", "ben"]


def test_a_policy_set_without_owners_says_that_nobody_lets_it_pass(pull, browser):
    assert "no owners who could approve" in browser.get(f"/pulls/{REPOSITORY}/5").text


def test_a_plan_with_options_has_no_verdict(wires, pull, browser):
    _, planned, _ = pull
    looked = replace(wires.speculative_plans.get(planned.id), options=("-target=a.b",))
    wires.speculative_plans.save(replace(looked, verdicts=(PolicyVerdict("security", ()),)))
    text = browser.get(f"/pulls/{REPOSITORY}/5").text
    assert "Planned with -target=a.b : no verdict" in text
    assert "security: no verdict" in text


def test_what_is_not_planned_is_told_on_the_page(wires, pull, browser):
    wires.pull_requests.save(replace(pull[0], notes="The root app is not planned by itself."))
    assert "The root app is not planned by itself." in browser.get(f"/pulls/{REPOSITORY}/5").text


def test_a_merged_pull_request_leads_to_what_was_deployed(wires, pull, browser):
    applies = (Applying("network", "prod", "network-1"),)
    deploys = (Applying("network", "prod", "network-2"), Applying("app", "default", ""))
    assert "Conditions" in browser.get(f"/pulls/{REPOSITORY}/5").text
    wires.pull_requests.save(replace(pull[0], closed_at=NOW, merged=True, applies=applies, deploys=deploys))
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert "author asked to merge feature into main" in page.text
    assert f'href="/repositories/{REPOSITORY}/deployments"' in page.body
    assert 'href="/deployments/network-1"' in page.body
    assert 'href="/deployments/network-2"' in page.body
    assert "not queued yet app" in page.text
    assert "Conditions" not in page.text


def test_a_merged_pull_request_tells_what_became_of_each_root(wires, pull, browser):
    error = "Unsupported argument (main.tf line 2): terraform plan failed with exit code 1."
    applied = wires.deployed(deployment_in(State.APPLIED))
    failed = wires.deployed(deployment_in(State.PLAN_FAILED, 2, root=Root("app", "app"), reason=error))
    deploys = (Applying("network", "prod", applied.id), Applying("app", "default", failed.id))
    wires.pull_requests.save(replace(pull[0], closed_at=NOW, merged=True, deploys=deploys))
    text = browser.get(f"/pulls/{REPOSITORY}/5").text
    assert "Applied network prod 2 to add, 1 to destroy" in text
    assert f"Plan failed {error} app default" in text


def test_a_merged_pull_request_leads_to_the_deployments_of_the_commit_that_its_merge_made(wires, pull, browser):
    theirs = wires.deployed(any_deployment(id="theirs-1", revision=Revision("e" * 40, "main")))
    elsewhere = Revision("d" * 40, "main")
    other = wires.deployed(any_deployment(id="other-1", revision=elsewhere, root=Root("other", "other")))
    wires.pull_requests.save(replace(pull[0], closed_at=NOW, merged=True, merge_sha=theirs.revision.sha))
    page = browser.get(f"/pulls/{REPOSITORY}/5")
    assert "Deployments of commit eeeeeee" in page.text
    (link,) = re.findall(r'href="([^"]*query=revision[^"]*)"', page.body)
    found = browser.get(link).body
    assert f'href="/deployments/{theirs.id}"' in found
    assert f'href="/deployments/{other.id}"' not in found
