"""Webhooks: each payload is held against what is published of it, and headers are GitLab's."""

from __future__ import annotations

import time

import pytest

from tests.forge.conftest import DEADLINE
from tests.gitlab.conftest import IN, PROJECT, TOKEN, HookReceiver
from tests.gitlab.published import check
from tidegate_local.gitlab.settings import MAINTAINER

NOBODY = "0" * 40
MERGE_REQUEST, NOTE, PUSH = "Merge Request Hook", "Note Hook", "Push Hook"


def published(event, payload):
    """Hold a payload against what is published of it."""
    names = {MERGE_REQUEST: "MergeRequest", NOTE: "MergeRequestNote", PUSH: "Push", "Tag Push Hook": "Tag"}
    check(f"Webhook{names[event]}EventSchema", payload)
    return payload


def eventually_listed(api, sha):
    """Wait until GitLab has written down how the push of a commit was taken."""
    deadline = time.monotonic() + DEADLINE
    while not any(one["request_data"]["after"] == sha for one in api.call("GET", f"{IN}/hooks/1/events")):
        assert time.monotonic() < deadline, f"the push of {sha} is not listed"
        time.sleep(0.01)


class TestHeaders:
    def test_a_webhook_carries_gitlabs_headers_and_the_token(self, gitlab, receiver, sha):
        (one,) = receiver.wait_for(PUSH)
        headers = one["headers"]
        assert one["signed"]
        assert headers["X-Gitlab-Instance"] == gitlab.url
        assert headers["Content-Type"] == "application/json"
        unique = {headers[name] for name in ("Idempotency-Key", "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID")}
        assert len(unique) == 3

    def test_without_an_address_nothing_is_sent(self, gitlab, receiver, maintainer, sha):
        receiver.wait_for(PUSH)
        gitlab.point_webhook_at(None, "")
        maintainer.push(PROJECT, {"c": "c"}, "Silent")
        gitlab.point_webhook_at(receiver.url, TOKEN)
        last = maintainer.push(PROJECT, {"d": "d"}, "Loud")
        receiver.wait_for(PUSH, after=last)
        assert len(receiver.came()) == 2


class TestPushes:
    def test_a_push_tells_its_commits_and_their_files(self, receiver, maintainer, sha):
        second = maintainer.push(PROJECT, {"b.tf": "# b\n", "network/main.tf": None}, "Second\n\nWith reasons.")
        (one,) = receiver.wait_for(PUSH, after=second)
        payload = published(PUSH, one["payload"])
        (commit,) = payload["commits"]
        assert (payload["before"], payload["checkout_sha"], payload["ref"]) == (sha, second, "refs/heads/main")
        assert (commit["id"], commit["title"]) == (second, "Second")
        assert (commit["added"], commit["modified"], commit["removed"]) == (["b.tf"], [], ["network/main.tf"])
        assert (payload["user_username"], payload["total_commits_count"]) == ("maintainer", 1)
        assert payload["project"]["path_with_namespace"] == PROJECT
        assert payload["ref_protected"] is True

    def test_the_first_push_comes_after_nothing(self, receiver, sha):
        (one,) = receiver.wait_for(PUSH, before=NOBODY)
        assert published(PUSH, one["payload"])["after"] == sha

    def test_a_push_of_many_commits_lists_the_newest_20(self, gitlab, receiver, maintainer, sha):
        project, git = gitlab.hosting.project(PROJECT), None
        git = gitlab.hosting.git(project)
        tip = sha
        for number in range(25):
            one = git.commit(tip)
            tip = git.commit_tree(one.tree, (tip,), f"Commit {number}", one.author, one.committer)
        maintainer.call("POST", f"{IN}/repository/branches", {"branch": "many", "ref": tip})
        (one,) = receiver.wait_for(PUSH, ref="refs/heads/many")
        commits = one["payload"]["commits"]
        assert (len(commits), one["payload"]["total_commits_count"]) == (20, 25)
        assert (commits[0]["title"], commits[-1]["title"]) == ("Commit 5", "Commit 24")

    def test_a_deleted_branch_is_told_with_zeros(self, receiver, developer, head):
        developer.delete_branch(PROJECT, "feature/b")
        (one,) = receiver.wait_for(PUSH, after=NOBODY)
        payload = published(PUSH, one["payload"])
        assert (payload["before"], payload["checkout_sha"], payload["commits"]) == (head, None, [])


class TestMergeRequests:
    def test_each_step_of_a_merge_request_is_told(self, receiver, developer, reviewer, maintainer, *, head, iid):
        developer.make_draft(PROJECT, iid)
        developer.make_ready(PROJECT, iid)
        second = developer.push(PROJECT, {"b.tf": "# 2\n"}, "More", branch="feature/b")
        developer.close(PROJECT, iid)
        developer.reopen(PROJECT, iid)
        reviewer.approve(PROJECT, iid)
        reviewer.unapprove(PROJECT, iid)
        merged = maintainer.merge(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "merge")
        came = receiver.wait_for(MERGE_REQUEST, count=9)
        told = {}
        for one in came:
            attributes = published(MERGE_REQUEST, one["payload"])["object_attributes"]
            told.setdefault(attributes["action"], []).append(one["payload"])
        assert {action: len(those) for action, those in told.items()} == {
            "open": 1,
            "update": 3,
            "close": 1,
            "reopen": 1,
            "approved": 1,
            "unapproved": 1,
            "merge": 1,
        }
        (push,) = [one for one in told["update"] if "oldrev" in one["object_attributes"]]
        assert push["object_attributes"]["oldrev"] == head
        assert push["object_attributes"]["last_commit"]["id"] == second
        drafts = [one["changes"]["draft"] for one in told["update"] if "draft" in one["changes"]]
        assert {(one["previous"], one["current"]) for one in drafts} == {(False, True), (True, False)}
        assert told["close"][0]["object_attributes"]["state"] == "closed"
        assert told["merge"][0]["object_attributes"]["state"] == "merged"
        assert told["merge"][0]["object_attributes"]["merge_commit_sha"] == merged
        assert told["approved"][0]["user"]["username"] == "reviewer"

    def test_another_target_is_told_with_both_names(self, receiver, developer, maintainer, iid):
        maintainer.push(PROJECT, {"r": "r"}, "Release", branch="release", base="main")
        developer.retarget(PROJECT, iid, "release")
        (one,) = receiver.wait_for(MERGE_REQUEST, "update")
        assert one["payload"]["changes"]["target_branch"] == {"previous": "main", "current": "release"}

    def test_one_of_several_needed_approvals_is_told_otherwise(self, receiver, reviewer, maintainer, developer, *, iid):
        maintainer.require_approvals(PROJECT, 2)
        reviewer.approve(PROJECT, iid)
        developer.approve(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "approval")
        receiver.wait_for(MERGE_REQUEST, "approved")
        reviewer.unapprove(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "unapproved")
        developer.unapprove(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "unapproval")

    def test_one_from_a_fork_names_both_projects(self, receiver, person, sha):
        visitor = person("visitor")
        fork = visitor.fork(PROJECT)
        visitor.push(fork, {"x": "x"}, "Add x", branch="x", base="main")
        visitor.open_merge_request(fork, "x", title="Add x")
        (one,) = receiver.wait_for(MERGE_REQUEST, "open")
        attributes = published(MERGE_REQUEST, one["payload"])["object_attributes"]
        assert attributes["source"]["path_with_namespace"] == fork
        assert attributes["target"]["path_with_namespace"] == PROJECT
        assert attributes["source_project_id"] != attributes["target_project_id"]


class TestNotes:
    def test_a_note_and_its_change_are_told(self, receiver, developer, iid):
        note = developer.note(PROJECT, iid, "tidegate plan")
        (one,) = receiver.wait_for(NOTE, "create")
        payload = published(NOTE, one["payload"])
        assert (payload["object_attributes"]["note"], payload["object_attributes"]["id"]) == ("tidegate plan", note)
        assert (payload["merge_request"]["iid"], payload["user"]["username"]) == (iid, "developer")
        developer.edit_note(PROJECT, iid, note, "tidegate unlock")
        receiver.wait_for(NOTE, "update")

    def test_what_gitlab_writes_itself_is_not_told(self, receiver, reviewer, developer, iid):
        reviewer.approve(PROJECT, iid)
        developer.note(PROJECT, iid, "Thanks")
        receiver.wait_for(NOTE)
        assert [one["payload"]["object_attributes"]["note"] for one in receiver.wait_for(NOTE)] == ["Thanks"]


class TestMishaps:
    def test_a_lost_webhook_is_listed_as_failed_and_can_be_sent_again(self, api, receiver, maintainer, sha):
        receiver.wait_for(PUSH)
        maintainer.lose_webhooks(PUSH)
        lost = maintainer.push(PROJECT, {"c": "c"}, "Lost")
        eventually_listed(api, sha)
        (failed,) = [one for one in api.call("GET", f"{IN}/hooks/1/events") if one["response_status"] != "202"]
        assert (failed["response_status"], failed["request_data"]["after"]) == ("internal error", lost)
        assert failed["request_headers"]["X-Gitlab-Token"] == "[REDACTED]"
        assert api.call("POST", f"{IN}/hooks/1/events/{failed['id']}/resend") == {"response_status": 202}
        (again,) = receiver.wait_for(PUSH, after=lost)
        assert again["signed"]
        assert again["headers"]["Idempotency-Key"] == failed["request_headers"]["Idempotency-Key"]
        assert again["headers"]["X-Gitlab-Event-UUID"] != failed["request_headers"]["X-Gitlab-Event-UUID"]

    def test_a_doubled_webhook_comes_with_one_key(self, receiver, maintainer, sha):
        maintainer.duplicate_webhooks(PUSH)
        doubled = maintainer.push(PROJECT, {"c": "c"}, "Twice")
        first, second = receiver.wait_for(PUSH, after=doubled, count=2)
        assert first["headers"]["Idempotency-Key"] == second["headers"]["Idempotency-Key"]

    def test_mishaps_can_be_meant_for_one_action(self, receiver, maintainer, developer, iid):
        maintainer.lose_webhooks(MERGE_REQUEST, action="close")
        developer.close(PROJECT, iid)
        developer.reopen(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "reopen")
        actions = [one["payload"]["object_attributes"]["action"] for one in receiver.wait_for(MERGE_REQUEST)]
        assert "close" not in actions

    @pytest.mark.parametrize(
        ("answer", "outcome"), [(500, "server_failure"), (404, "client_failure"), (200, "successful")]
    )
    def test_events_are_listed_by_their_outcome(self, api, receiver, maintainer, *, sha, answer, outcome):
        receiver.answer = answer
        last = maintainer.push(PROJECT, {"c": "c"}, "Last")
        receiver.wait_for(PUSH, after=last)
        eventually_listed(api, last)
        found = api.call("GET", f"{IN}/hooks/1/events?status={outcome}")
        assert found[0]["request_data"]["after"] == last
        assert api.call("GET", f"{IN}/hooks/1/events?status={answer}")[0]["id"] == found[0]["id"]
        assert (found[0]["trigger"], found[0]["response_body"]) == ("push_hooks", "done")


class TestDisabling:
    def test_a_webhook_that_fails_four_times_is_disabled_until_it_succeeds(self, api, receiver, maintainer, sha):
        receiver.wait_for(PUSH)
        receiver.answer = 500
        for number in range(4):
            last = maintainer.push(PROJECT, {"c": str(number)}, f"Fail {number}")
            receiver.wait_for(PUSH, after=last)
            eventually_listed(api, last)
        hook = api.call("GET", f"{IN}/hooks/1")
        assert (hook["alert_status"], hook["disabled_until"] is None) == ("temporarily_disabled", False)
        receiver.answer = 202
        left_out = maintainer.push(PROJECT, {"d": "d"}, "Left out")
        newest = api.call("GET", f"{IN}/hooks/1/events")[0]
        assert newest["request_data"]["after"] == last
        api.call("POST", f"{IN}/hooks/1/events/{newest['id']}/resend")
        assert api.call("GET", f"{IN}/hooks/1")["alert_status"] == "executable"
        told = maintainer.push(PROJECT, {"e": "e"}, "Told")
        receiver.wait_for(PUSH, after=told)
        assert left_out not in {one["payload"]["after"] for one in receiver.came()}


class TestProjectHooks:
    @pytest.fixture
    def own(self):
        receiver = HookReceiver()
        yield receiver
        receiver.close()

    def test_a_projects_own_webhook_gets_the_events_that_it_wants(self, api, own, maintainer, developer, *, iid):
        wanted = {"url": own.url, "token": TOKEN, "push_events": False, "note_events": True}
        hook = api.call("POST", f"{IN}/hooks", wanted)
        assert "token" not in hook
        maintainer.push(PROJECT, {"c": "c"}, "Not told")
        developer.note(PROJECT, iid, "Told")
        (one,) = own.wait_for(NOTE)
        assert one["signed"]
        assert len(own.came()) == 1
        assert api.call("PUT", f"{IN}/hooks/{hook['id']}", {"push_events": True})["push_events"] is True
        told = maintainer.push(PROJECT, {"d": "d"}, "Told")
        own.wait_for(PUSH, after=told)
        api.call("DELETE", f"{IN}/hooks/{hook['id']}")
        assert api.call("GET", f"{IN}/hooks") == []

    def test_only_maintainers_see_webhooks(self, api, person, maintainer, receiver, *, sha):
        assert api.ask("GET", f"{IN}/hooks", token="developer")[0] == 403
        (shared,) = api.call("GET", f"{IN}/hooks", token="reviewer")
        assert (shared["id"], shared["url"]) == (1, receiver.url)
        maintainer.set_member(PROJECT, "developer", MAINTAINER)
        assert api.ask("GET", f"{IN}/hooks/1", token="developer")[0] == 200

    def test_an_address_that_is_none_is_refused(self, api, sha):
        assert api.ask("POST", f"{IN}/hooks", {"url": "file:///etc"}, token="maintainer")[0] == 400
        assert api.ask("POST", f"{IN}/hooks", {}, token="maintainer")[2] == {"error": "url is missing"}
