"""Webhooks: each payload is held against what is published of it, and headers are GitLab's."""

from __future__ import annotations

import pytest

from tests.gitlab.conftest import IN, PROJECT, TOKEN, HookReceiver
from tests.gitlab.published import check

NOBODY = "0" * 40
MERGE_REQUEST, NOTE, PUSH = "Merge Request Hook", "Note Hook", "Push Hook"


def published(event, payload):
    """Hold a payload against what is published of it."""
    names = {MERGE_REQUEST: "MergeRequest", NOTE: "MergeRequestNote", PUSH: "Push"}
    check(f"Webhook{names[event]}EventSchema", payload)
    return payload


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
        assert (payload["before"], payload["after"], payload["ref"]) == (sha, second, "refs/heads/main")
        assert (commit["id"], commit["title"]) == (second, "Second")
        assert (commit["added"], commit["modified"], commit["removed"]) == (["b.tf"], [], ["network/main.tf"])
        assert payload["user_username"] == "maintainer"
        assert payload["project"]["path_with_namespace"] == PROJECT
        assert payload["ref_protected"] is True

    def test_the_first_push_comes_after_nothing(self, receiver, sha):
        (one,) = receiver.wait_for(PUSH, before=NOBODY)
        assert published(PUSH, one["payload"])["after"] == sha


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


class TestFaults:
    def test_a_doubled_webhook_comes_with_one_key(self, receiver, maintainer, sha):
        maintainer.duplicate_webhooks(PUSH)
        doubled = maintainer.push(PROJECT, {"c": "c"}, "Twice")
        first, second = receiver.wait_for(PUSH, after=doubled, count=2)
        assert first["headers"]["Idempotency-Key"] == second["headers"]["Idempotency-Key"]

    def test_faults_can_be_meant_for_one_action(self, receiver, maintainer, developer, iid):
        maintainer.lose_webhooks(MERGE_REQUEST, action="close")
        developer.close(PROJECT, iid)
        developer.reopen(PROJECT, iid)
        receiver.wait_for(MERGE_REQUEST, "reopen")
        actions = [one["payload"]["object_attributes"]["action"] for one in receiver.wait_for(MERGE_REQUEST)]
        assert "close" not in actions


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
        assert [one["id"] for one in api.call("GET", f"{IN}/hooks")] == [hook["id"]]
        assert api.ask("GET", f"{IN}/hooks", token="developer")[0] == 403
        (event,) = api.call("GET", f"{IN}/hooks/{hook['id']}/events")
        assert (event["response_status"], event["request_headers"]["X-Gitlab-Token"]) == ("202", "[REDACTED]")
