"""Webhooks: signed, shaped as GitHub's, recorded, sent again only when asked."""

from __future__ import annotations

import pytest

from tests.forge.conftest import SECRET
from tests.forge.git import git
from tests.forge.published import hold_against_github
from tidegate_local.forge.client import ForgeAnswered

IN = "/repos/acme/infra"


class TestHeaders:
    def test_a_webhook_is_signed_and_named(self, receiver, sha):
        (came,) = receiver.wait_for("push")
        headers = came["headers"]
        assert came["signed"]
        assert headers["Content-Type"] == "application/json"
        assert headers["User-Agent"].startswith("GitHub-Hookshot/")
        assert len(headers["X-GitHub-Delivery"]) == 36
        assert headers["X-GitHub-Hook-Installation-Target-Type"] == "integration"


class TestPush:
    def test_a_new_branch_is_told_with_its_commits(self, receiver, maintainer, sha, forge):
        (came,) = receiver.wait_for("push")
        hold_against_github(came, "push")
        payload = came["payload"]
        assert (payload["ref"], payload["before"], payload["after"]) == ("refs/heads/main", "0" * 40, sha)
        assert (payload["created"], payload["deleted"], payload["forced"]) == (True, False, False)
        assert payload["head_commit"]["added"] == ["network/main.tf"]
        assert payload["installation"]["id"] == forge.installation("acme")
        assert payload["repository"]["default_branch"] == "main"
        assert (payload["pusher"]["name"], payload["sender"]["login"]) == ("maintainer", "maintainer")

    def test_a_second_push_lists_what_each_commit_did(self, receiver, maintainer, sha):
        after = maintainer.push("acme/infra", {"network/main.tf": "# new\n", "b.tf": "# b\n"}, "Change")
        _, came = receiver.wait_for("push", count=2)
        (commit,) = came["payload"]["commits"]
        assert (came["payload"]["before"], came["payload"]["after"]) == (sha, after)
        assert (commit["added"], commit["modified"], commit["removed"]) == (["b.tf"], ["network/main.tf"], [])

    def test_forced_and_deleted_branches_and_tags_are_told_as_such(self, receiver, maintainer, sha, tmp_path):
        maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second")
        git(tmp_path, "clone", "--quiet", maintainer.clone_url("acme/infra"), "copy")
        copy = tmp_path / "copy"
        git(copy, "push", "--quiet", "origin", f"+{sha}:refs/heads/main")
        git(copy, "push", "--quiet", "origin", f"{sha}:refs/tags/v1")
        git(copy, "push", "--quiet", "origin", f"{sha}:refs/heads/gone")
        git(copy, "push", "--quiet", "origin", ":refs/heads/gone")
        (forced,) = receiver.wait_for("push", forced=True)
        (deleted,) = receiver.wait_for("push", deleted=True)
        (tag,) = receiver.wait_for("push", ref="refs/tags/v1")
        for came in (forced, deleted, tag):
            hold_against_github(came, "push")
        assert forced["payload"]["after"] == sha
        assert (deleted["payload"]["after"], deleted["payload"]["head_commit"]) == ("0" * 40, None)

    def test_a_push_opens_a_check_suite(self, receiver, sha):
        (came,) = receiver.wait_for("check_suite", "requested")
        hold_against_github(came, "check_suite", "requested")
        assert came["payload"]["check_suite"]["head_sha"] == sha


class TestCheckRuns:
    @pytest.fixture
    def run(self, api, sha):
        actions = [{"label": "Confirm", "description": "Apply", "identifier": "Confirm"}]
        body = {"name": "tidegate/deploy: network", "head_sha": sha, "external_id": "d-1", "actions": actions}
        return api.call("POST", f"{IN}/check-runs", body, token=api.installation_token())["id"]

    def test_making_and_completing_a_run_is_told(self, receiver, api, run):
        api.call("PATCH", f"{IN}/check-runs/{run}", {"conclusion": "success"}, token=api.installation_token())
        for action in ("created", "completed"):
            (came,) = receiver.wait_for("check_run", action)
            hold_against_github(came, "check_run", action)
        (came,) = receiver.wait_for("check_suite", "completed")
        hold_against_github(came, "check_suite", "completed")
        assert came["payload"]["check_suite"]["conclusion"] == "success"

    def test_a_clicked_button_is_told_with_who_clicked_it(self, receiver, forge, run):
        from tidegate_local.forge.client import ForgeClient

        ForgeClient(forge.url, "reviewer").click("acme/infra", run, "Confirm")
        (came,) = receiver.wait_for("check_run", "requested_action")
        hold_against_github(came, "check_run", "requested_action")
        payload = came["payload"]
        assert payload["requested_action"] == {"identifier": "Confirm"}
        assert (payload["sender"]["login"], payload["check_run"]["external_id"]) == ("reviewer", "d-1")

    def test_re_run_is_told(self, receiver, maintainer, run):
        maintainer.rerun("acme/infra", run)
        (came,) = receiver.wait_for("check_run", "rerequested")
        hold_against_github(came, "check_run", "rerequested")

    def test_re_run_failed_asks_for_each_failed_one_of_the_newest_checks(self, receiver, api, maintainer, sha):
        token = api.installation_token()

        def check(name, **fields):
            body = {"name": name, "head_sha": sha, **fields}
            return api.call("POST", f"{IN}/check-runs", body, token=token)

        check("mended", conclusion="failure")
        check("mended", conclusion="success")
        check("running", status="in_progress")
        failed = {
            check(name, conclusion=name)["id"] for name in ("failure", "timed_out", "cancelled", "action_required")
        }
        before = {one["id"]: one for one in maintainer.check_runs("acme/infra", sha)}
        maintainer.rerun_failed("acme/infra", sha)
        came = receiver.wait_for("check_run", "rerequested", count=4)
        assert {one["payload"]["check_run"]["id"] for one in came} == failed
        assert {one["id"]: one for one in maintainer.check_runs("acme/infra", sha)} == before

    def test_re_run_all_asks_for_the_suite(self, receiver, maintainer, run, sha):
        maintainer.rerun_all("acme/infra", sha)
        (came,) = receiver.wait_for("check_suite", "rerequested")
        hold_against_github(came, "check_suite", "rerequested")
        suite = came["payload"]["check_suite"]
        assert (suite["head_sha"], suite["after"], suite["head_branch"]) == (sha, sha, "main")
        assert (suite["before"], suite["app"]["slug"]) == ("0" * 40, "tidegate-local")
        assert came["payload"]["sender"]["login"] == "maintainer"

    def test_there_is_nothing_to_run_again_on_a_commit_without_checks(self, maintainer, sha):
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.rerun_all("acme/infra", sha)


class TestPullRequests:
    def test_opening_pushing_to_commenting_on_and_merging_a_pull_request_is_told(self, receiver, api, maintainer, sha):
        maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
        number = maintainer.open_pull_request("acme/infra", "more", title="More")
        head = maintainer.push("acme/infra", {"c.tf": "# c\n"}, "Third", branch="more")
        made = api.call("POST", f"{IN}/issues/{number}/comments", {"body": "hello"}, token="reviewer")
        api.call("PATCH", f"{IN}/issues/comments/{made['id']}", {"body": "hallo"}, token="reviewer")
        merged = maintainer.merge_pull_request("acme/infra", number)
        for action in ("opened", "synchronize", "closed"):
            (came,) = receiver.wait_for("pull_request", action)
            hold_against_github(came, "pull_request", action)
        assert (came["payload"]["pull_request"]["merged"], came["payload"]["pull_request"]["head"]["sha"]) == (
            True,
            head,
        )
        for action in ("created", "edited"):
            (came,) = receiver.wait_for("issue_comment", action)
            hold_against_github(came, "issue_comment", action)
        (push,) = receiver.wait_for("push", after=merged)
        assert push["payload"]["ref"] == "refs/heads/main"
        assert head in {commit["id"] for commit in push["payload"]["commits"]}

    @pytest.fixture
    def number(self, maintainer, sha):
        maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
        return maintainer.open_pull_request("acme/infra", "more", title="More")

    def test_closing_reopening_and_becoming_a_draft_and_ready_is_told(self, receiver, maintainer, number):
        for state in ("closed", "open"):
            maintainer.edit_pull_request("acme/infra", number, state=state)
        maintainer.make_draft("acme/infra", number)
        maintainer.make_ready("acme/infra", number)
        states = {
            "closed": ("closed", False),
            "reopened": ("open", False),
            "converted_to_draft": ("open", True),
            "ready_for_review": ("open", False),
        }
        for action, state in states.items():
            (came,) = receiver.wait_for("pull_request", action)
            hold_against_github(came, "pull_request", action)
            told = came["payload"]["pull_request"]
            assert (told["state"], told["draft"], told["merged"]) == (*state, False)

    def test_another_base_branch_is_told_with_the_one_before(self, receiver, maintainer, number, sha):
        moved = maintainer.push("acme/infra", {"c.tf": "# c\n"}, "Third", branch="release", base="main")
        maintainer.edit_pull_request("acme/infra", number, base="release")
        (came,) = receiver.wait_for("pull_request", "edited")
        hold_against_github(came, "pull_request", "edited")
        assert came["payload"]["changes"] == {"base": {"ref": {"from": "main"}, "sha": {"from": sha}}}
        base = came["payload"]["pull_request"]["base"]
        assert (base["ref"], base["sha"]) == ("release", moved)
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.edit_pull_request("acme/infra", number, base="none")

    def test_a_merge_queue_asks_for_checks_of_the_merge_result(self, receiver, api, maintainer, number, sha):
        maintainer.queue_pull_request("acme/infra", number)
        (came,) = receiver.wait_for("merge_group", "checks_requested")
        hold_against_github(came, "merge_group", "checks_requested")
        group = came["payload"]["merge_group"]
        assert group["head_ref"] == f"refs/heads/gh-readonly-queue/main/pr-{number}-{sha}"
        assert (group["base_ref"], group["base_sha"]) == ("refs/heads/main", sha)
        commit = api.call("GET", f"{IN}/commits/{group['head_sha']}", token=api.installation_token())
        assert commit["parents"][0]["sha"] == sha
        maintainer.make_draft("acme/infra", number)
        with pytest.raises(ForgeAnswered, match="405"):
            maintainer.queue_pull_request("acme/infra", number)


class TestDeliveries:
    def delivery(self, api, event, count=1):
        """Return the listed deliveries of an event; pending ones are not listed."""
        import time

        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            items = api.call("GET", "/app/hook/deliveries?per_page=100", token=api.app_token())
            found = [one for one in items if one["event"] == event]
            if len(found) >= count:
                return found
        raise AssertionError(f"no delivery of {event}")

    def test_a_failed_delivery_is_recorded_and_not_sent_again_until_somebody_asks(self, api, receiver, maintainer):
        receiver.answer = 500
        maintainer.push("acme/infra", {"a": "a"}, "Begin")
        (failed,) = self.delivery(api, "push")
        assert (failed["status_code"], failed["redelivery"]) == (500, False)
        assert len(receiver.wait_for("push")) == 1
        receiver.answer = 202
        status, _, _ = api.ask("POST", f"/app/hook/deliveries/{failed['id']}/attempts", token=api.app_token())
        assert status == 202
        again, _ = self.delivery(api, "push", count=2)
        assert (again["status"], again["redelivery"], again["guid"]) == ("OK", True, failed["guid"])
        first, second = receiver.wait_for("push", count=2)
        assert first["payload"] == second["payload"]
        assert second["signed"]

    def test_a_delivery_shows_what_was_sent_and_answered(self, api, receiver, sha):
        (one,) = self.delivery(api, "push")
        found = api.call("GET", f"/app/hook/deliveries/{one['id']}", token=api.app_token())
        assert found["request"]["payload"]["after"] == sha
        assert found["response"]["payload"] == "done"

    def test_deliveries_are_listed_by_cursor(self, api, receiver, sha):
        self.delivery(api, "check_suite")
        self.delivery(api, "push")
        _, headers, newest = api.ask("GET", "/app/hook/deliveries?per_page=1", token=api.app_token())
        cursor = headers["Link"].partition("cursor=")[2].partition(">")[0]
        rest = api.call("GET", f"/app/hook/deliveries?per_page=1&cursor={cursor}", token=api.app_token())
        assert rest[0]["id"] < newest[0]["id"]

    def test_an_address_where_nobody_listens_is_recorded_as_such(self, api, forge, maintainer):
        forge.point_webhook_at("http://127.0.0.1:9/hook", "x")
        maintainer.push("acme/infra", {"a": "a"}, "Begin")
        assert self.delivery(api, "push")[0]["status_code"] == 502


def test_an_app_says_itself_where_its_webhooks_go(api, forge, receiver, maintainer):
    url = receiver.url
    forge.point_webhook_at(None, "nobody's")
    assert api.call("GET", "/app/hook/config", token=api.app_token())["url"] == ""
    changed = api.call("PATCH", "/app/hook/config", {"url": url, "secret": SECRET}, token=api.app_token())
    assert (changed["url"], changed["secret"]) == (url, "********")
    maintainer.push("acme/told", {"main.tf": ""}, "Begin")
    receiver.wait_for("push")
    assert api.ask("PATCH", "/app/hook/config", {"url": url}, token="maintainer")[0] in {401, 403}
