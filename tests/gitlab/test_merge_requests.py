"""Merge requests: opened, changed, approved, merged, as GitLab would, and refused as GitLab would."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.gitlab.conftest import IN, PROJECT
from tidegate_local.gitlab.client import ForgeAnswered

ALL = f"{IN}/merge_requests"


@pytest.fixture
def one(iid):
    return f"{ALL}/{iid}"


def push_by_hand(who, directory, sha):
    """Let main be at a commit, by git itself."""
    address = who.clone_url(PROJECT)
    git = ["git", "-C", str(directory)]
    subprocess.run([*git, "clone", "-q", "--bare", address, "clone"], check=True, capture_output=True)
    subprocess.run(
        [*git, "-C", "clone", "push", "-q", address, f"{sha}:refs/heads/main"], check=True, capture_output=True
    )


class TestOpening:
    def test_a_merge_request_tells_where_it_comes_from_and_where_it_goes(self, api, sha, head, one):
        found = api.call("GET", one)
        assert (found["state"], found["sha"], found["merge_commit_sha"]) == ("opened", head, None)
        assert (found["source_branch"], found["target_branch"]) == ("feature/b", "main")
        assert found["source_project_id"] == found["target_project_id"] == found["project_id"]
        assert found["diff_refs"] == {"base_sha": sha, "head_sha": head, "start_sha": sha}
        assert found["detailed_merge_status"] == "mergeable"
        assert found["references"]["full"] == f"{PROJECT}!1"

    def test_lists_are_limited_by_state_and_branch(self, api, developer, maintainer, head, iid):
        maintainer.push(PROJECT, {"c.tf": "# c\n"}, "Add c", branch="c", base="main")
        second = maintainer.open_merge_request(PROJECT, "c", title="Add c")
        assert [one["iid"] for one in api.call("GET", f"{ALL}?state=opened")] == [second, iid]
        ascending = f"{ALL}?state=opened&order_by=created_at&sort=asc"
        assert [one["iid"] for one in api.call("GET", ascending)] == [iid, second]
        developer.close(PROJECT, iid)
        assert [one["iid"] for one in api.call("GET", f"{ALL}?state=closed")] == [iid]

    @pytest.mark.parametrize(
        ("fields", "status"),
        [
            ({}, 409),
            ({"source_branch": "absent"}, 400),
            ({"target_branch": "absent"}, 400),
            ({"source_branch": "main"}, 422),
            ({"title": None}, 400),
        ],
        ids=["there is one already", "no source", "no target", "the same branch", "no title"],
    )
    def test_what_cannot_be_opened_is_refused(self, api, iid, fields, status):
        request = {"source_branch": "feature/b", "target_branch": "main", "title": "Again", **fields}
        assert api.ask("POST", ALL, request, token="developer")[0] == status

    def test_an_unknown_number_is_not_found(self, api, iid):
        assert api.ask("GET", f"{ALL}/99", token="maintainer")[::2] == (404, {"message": "404 Not found"})

    def test_a_fork_offers_its_branch_to_where_it_comes_from(self, api, person, sha):
        visitor = person("visitor")
        fork = visitor.fork(PROJECT)
        head = visitor.push(fork, {"x.tf": "# x\n"}, "Add x", branch="x", base="main")
        iid = visitor.open_merge_request(fork, "x", title="Add x")
        found = api.call("GET", f"{ALL}/{iid}")
        assert (fork, found["sha"]) == ("visitor/infra", head)
        assert found["source_project_id"] != found["target_project_id"] == api.call("GET", IN)["id"]
        assert api.ask("GET", f"/projects/{found['source_project_id']}")[0] == 404


class TestAtOnce:
    def test_what_is_asked_for_at_the_same_time_happens_once(self, api, maintainer, head, one):
        def ask(call):
            method, path, body = call
            return api.ask(method, f"{IN}{path}", body, token="maintainer")[0]

        opened = {"source_branch": "feature/b", "target_branch": "other", "title": "At once"}
        maintainer.push(PROJECT, {}, "Another", branch="other", base="main")
        note = api.call("POST", f"{one}/notes", {"body": "A note"})["id"]
        here = one.removeprefix(IN)
        calls = [
            ("POST", "/merge_requests", opened),
            ("POST", f"{here}/notes/{note}/award_emoji", {"name": "eyes"}),
            ("POST", f"{here}/approve", {}),
        ]
        with ThreadPoolExecutor(8) as pool:
            for call in [*calls, ("PUT", f"{here}/merge", {})]:
                statuses = sorted(pool.map(ask, [call] * 8))
                assert [status for status in statuses if status < 300] == statuses[:1]


class TestChanging:
    def test_a_push_gives_a_new_head_and_a_new_version(self, api, developer, head, one):
        second = developer.push(PROJECT, {"b.tf": "# b2\n"}, "More", branch="feature/b")
        assert api.call("GET", one)["sha"] == second
        versions = api.call("GET", f"{one}/versions")
        assert [each["head_commit_sha"] for each in versions] == [second, head]

    def test_a_draft_is_one_by_its_title(self, api, developer, iid, one):
        developer.make_draft(PROJECT, iid)
        found = api.call("GET", one)
        assert (found["draft"], found["title"], found["detailed_merge_status"]) == (
            True,
            "Draft: Add b",
            "draft_status",
        )
        developer.make_ready(PROJECT, iid)
        assert api.call("GET", one)["draft"] is False

    def test_another_target_moves_the_base(self, api, developer, maintainer, head, *, iid, one):
        maintainer.push(PROJECT, {"r.tf": "# r\n"}, "Release", branch="release", base="main")
        developer.retarget(PROJECT, iid, "release")
        found = api.call("GET", one)
        assert found["target_branch"] == "release"
        assert found["diff_refs"]["start_sha"] == maintainer.branches(PROJECT)["release"]

    def test_closing_and_opening_again(self, api, developer, iid, one):
        developer.close(PROJECT, iid)
        found = api.call("GET", one)
        assert (found["state"], found["closed_by"]["username"]) == ("closed", "developer")
        developer.reopen(PROJECT, iid)
        assert api.call("GET", one)["state"] == "opened"

    def test_somebody_who_may_only_read_cannot_change_it(self, person, iid):
        with pytest.raises(ForgeAnswered, match="403"):
            person("visitor").close(PROJECT, iid)


class TestApproving:
    def test_who_approved_is_told(self, api, reviewer, iid, one):
        before = api.call("GET", f"{one}/approvals")
        assert (before["approved"], before["approved_by"]) == (True, [])  # none are needed
        reviewer.approve(PROJECT, iid)
        found = api.call("GET", f"{one}/approvals")
        assert [each["user"]["username"] for each in found["approved_by"]] == ["reviewer"]
        reviewer.unapprove(PROJECT, iid)
        assert api.call("GET", f"{one}/approvals")["approved_by"] == []

    def test_a_second_approval_and_one_of_another_commit_are_refused(self, api, reviewer, sha, head, *, iid, one):
        assert api.ask("POST", f"{one}/approve", {"sha": sha}, token="reviewer")[0] == 409
        reviewer.approve(PROJECT, iid, head)
        assert api.ask("POST", f"{one}/approve", {}, token="reviewer")[0] == 401
        assert api.ask("POST", f"{one}/approve", {}, token="visitor")[0] == 403
        assert api.ask("POST", f"{one}/unapprove", {}, token="maintainer")[0] == 404

    def test_a_push_drops_approvals_only_where_the_project_wants_it(
        self, api, developer, reviewer, *, maintainer, iid, one
    ):
        reviewer.approve(PROJECT, iid)
        developer.push(PROJECT, {"b.tf": "# 2\n"}, "More", branch="feature/b")
        assert len(api.call("GET", f"{one}/approvals")["approved_by"]) == 1
        maintainer.set_reset_approvals(PROJECT, on=True)
        developer.push(PROJECT, {"b.tf": "# 3\n"}, "Still more", branch="feature/b")
        assert api.call("GET", f"{one}/approvals")["approved_by"] == []

    def test_a_merge_waits_for_the_approvals_that_are_required(self, api, reviewer, maintainer, iid, one):
        maintainer.require_approvals(PROJECT, 1)
        assert api.call("GET", one)["detailed_merge_status"] == "not_approved"
        refused = api.ask("PUT", f"{one}/merge", {}, token="maintainer")
        assert refused[::2] == (405, {"message": "405 Method Not Allowed"})
        reviewer.approve(PROJECT, iid)
        assert api.call("GET", f"{one}/approvals")["approvals_left"] == 0
        assert api.call("PUT", f"{one}/merge", {}, token="maintainer")["state"] == "merged"


class TestMerging:
    def test_a_merge_commit_has_both_heads_as_parents(self, api, maintainer, sha, head, *, iid, one):
        merged = maintainer.merge(PROJECT, iid)
        found = api.call("GET", one)
        assert (found["state"], found["merge_commit_sha"]) == ("merged", merged)
        assert found["merge_user"]["username"] == "maintainer"
        commit = api.call("GET", f"{IN}/repository/commits/{merged}")
        assert commit["parent_ids"] == [sha, head]
        assert commit["message"].startswith("Merge branch 'feature/b' into 'main'")

    def test_a_squash_is_a_commit_of_its_own_before_the_merge_commit(self, api, maintainer, sha, iid, one):
        merged = maintainer.merge(PROJECT, iid, squash=True)
        found = api.call("GET", one)
        assert found["merge_commit_sha"] == merged != found["squash_commit_sha"]
        assert api.call("GET", f"{IN}/repository/commits/{merged}")["parent_ids"] == [sha, found["squash_commit_sha"]]

    def test_a_fast_forward_has_no_merge_commit(self, api, maintainer, head, iid, one):
        maintainer.call("PUT", IN, {"merge_method": "ff"})
        assert maintainer.merge(PROJECT, iid) == head
        assert (api.call("GET", one)["state"], api.call("GET", one)["merge_commit_sha"]) == ("merged", None)

    def test_what_cannot_be_merged_is_refused_as_gitlab_does(self, api, developer, maintainer, sha, *, iid, one):
        assert api.ask("PUT", f"{one}/merge", {}, token="developer")[0] == 401  # main is protected
        refused = api.ask("PUT", f"{one}/merge", {"sha": sha}, token="maintainer")
        assert (refused[0], refused[2]["message"].partition(":")[0]) == (
            409,
            "SHA does not match HEAD of source branch",
        )
        developer.make_draft(PROJECT, iid)
        assert api.ask("PUT", f"{one}/merge", {}, token="maintainer")[0] == 405
        developer.make_ready(PROJECT, iid)
        maintainer.push(PROJECT, {"b.tf": "# otherwise\n"}, "Collide")
        found = api.call("GET", one)
        assert (found["has_conflicts"], found["detailed_merge_status"]) == (True, "conflict")
        refused = api.ask("PUT", f"{one}/merge", {}, token="maintainer")
        assert refused[::2] == (422, {"message": "Branch cannot be merged"})

    def test_a_head_that_arrives_by_a_push_is_merged(self, api, maintainer, sha, head, *, one, tmp_path):
        push_by_hand(maintainer, tmp_path, head)
        found = api.call("GET", one)
        assert (found["state"], found["merge_commit_sha"]) == ("merged", head)

    def test_a_commit_names_the_merge_requests_that_brought_it(self, api, maintainer, sha, head, iid):
        merged = maintainer.merge(PROJECT, iid, squash=True)
        for commit in (head, merged):
            (found,) = api.call("GET", f"{IN}/repository/commits/{commit}/merge_requests")
            assert (found["iid"], found["author"]["username"], found["state"]) == (iid, "developer", "merged")
        assert api.call("GET", f"{IN}/repository/commits/{sha}/merge_requests") == []

    def test_the_source_branch_goes_when_the_merge_says_so(self, maintainer, iid):
        maintainer.merge(PROJECT, iid, should_remove_source_branch=True)
        assert list(maintainer.branches(PROJECT)) == ["main"]
