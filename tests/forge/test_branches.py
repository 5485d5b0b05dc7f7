"""Forks, branches and their protection, refs moved over REST, and which pull request brought a commit."""

from __future__ import annotations

import pytest

from tests.forge.git import git
from tests.forge.pages import ask, csrf
from tests.forge.published import hold_against_github
from tidegate_local.forge.client import ForgeAnswered, ForgeClient

REPOSITORY, IN = "acme/infra", "/repos/acme/infra"


@pytest.fixture
def visitor(forge):
    return ForgeClient(forge.url, "visitor")


@pytest.fixture
def developer(forge):
    return ForgeClient(forge.url, "developer")


class TestForks:
    @pytest.fixture
    def fork(self, visitor, sha):
        fork = visitor.fork(REPOSITORY)
        visitor.push(fork, {"b.tf": "# b\n"}, "Second", branch="more", base="main")
        return fork

    @pytest.fixture
    def number(self, visitor, fork):
        return visitor.open_pull_request(REPOSITORY, "visitor:more", title="From outside")

    def test_a_fork_is_a_copy_in_ones_own_account(self, api, visitor, fork, sha):
        assert fork == "visitor/infra"
        assert visitor.fork(REPOSITORY) == fork
        one = api.call("GET", f"/repos/{fork}", token="visitor")
        assert (one["fork"], one["parent"]["full_name"], one["permissions"]["admin"]) == (True, REPOSITORY, True)
        assert api.call("GET", f"/repos/{fork}/branches/main", token="visitor")["commit"]["sha"] == sha

    def test_a_pull_request_from_a_fork_names_where_it_comes_from(self, api, receiver, number):
        one = api.call("GET", f"{IN}/pulls/{number}", token=api.installation_token())
        head, base = one["head"], one["base"]
        assert (head["repo"]["full_name"], head["repo"]["fork"], head["label"]) == (
            "visitor/infra",
            True,
            "visitor:more",
        )
        assert (base["repo"]["full_name"], base["repo"]["fork"], base["label"]) == (REPOSITORY, False, "acme:main")
        assert (one["user"]["login"], one["mergeable"]) == ("visitor", True)
        (came,) = receiver.wait_for("pull_request", "opened")
        hold_against_github(came, "pull_request", "opened")
        assert came["payload"]["pull_request"]["head"]["repo"]["full_name"] == "visitor/infra"
        assert came["payload"]["repository"]["full_name"] == REPOSITORY

    def test_the_commits_of_a_fork_are_in_the_repository_under_the_pull_request(
        self, api, maintainer, visitor, number, tmp_path
    ):
        head = visitor.push("visitor/infra", {"c.tf": "# c\n"}, "Third", branch="more")
        assert api.call("GET", f"{IN}/pulls/{number}", token="visitor")["head"]["sha"] == head
        git(tmp_path, "clone", "--quiet", maintainer.clone_url(REPOSITORY), "copy")
        git(tmp_path / "copy", "fetch", "--quiet", "origin", f"refs/pull/{number}/head")
        assert git(tmp_path / "copy", "rev-parse", "FETCH_HEAD").strip() == head
        token = api.installation_token()
        run = api.call("POST", f"{IN}/check-runs", {"name": "plan", "head_sha": head}, token=token)
        assert run["pull_requests"] == []  # as on GitHub, for forks
        assert [one["number"] for one in api.call("GET", f"{IN}/commits/{head}/pulls", token=token)] == [number]

    def test_pushes_to_a_fork_move_the_pull_request_and_are_not_told(self, visitor, number, receiver):
        head = visitor.push("visitor/infra", {"c.tf": "# c\n"}, "Third", branch="more")
        (came,) = receiver.wait_for("pull_request", "synchronize")
        hold_against_github(came, "pull_request", "synchronize")
        assert came["payload"]["after"] == head
        assert {one["payload"]["repository"]["full_name"] for one in receiver.came()} == {REPOSITORY}

    def test_the_app_is_not_installed_on_people(self, api, fork):
        app = api.app_token()
        assert api.ask("GET", "/repos/visitor/infra/installation", token=app)[0] == 404

    def test_a_pull_request_from_a_fork_is_merged(self, api, maintainer, number):
        merged = maintainer.merge_pull_request(REPOSITORY, number)
        commit = api.call("GET", f"{IN}/commits/main", token="maintainer")
        assert commit["sha"] == merged
        assert commit["commit"]["message"].startswith(f"Merge pull request #{number} from visitor/more")

    def test_forks_are_compared_by_owner_and_branch(self, api, fork, forge):
        answer = api.call("GET", f"{IN}/compare/main...visitor:more", token="visitor")
        assert (answer["status"], answer["ahead_by"]) == ("ahead", 1)
        assert api.ask("GET", f"{IN}/compare/main...stranger:more", token="visitor")[0] == 404
        page = ask(forge, "GET", "/acme/infra/compare/main...visitor:more", user="visitor")[2]
        assert "Create pull request" in page
        assert (
            "Create pull request"
            not in ask(forge, "GET", "/acme/infra/compare/main...visitor:more", user="outsider")[2]
        )

    def test_a_fork_offers_its_branches_to_the_repository_it_came_from(self, forge, fork):
        page = ask(forge, "GET", f"/{fork}", user="visitor")[2]
        assert "Forked from" in page
        assert 'href="/acme/infra/compare/main...visitor:more"' in page

    def test_somebody_elses_branch_is_not_offered(self, developer, visitor, sha):
        developer.push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="theirs", base="main")
        with pytest.raises(ForgeAnswered, match="403"):
            visitor.open_pull_request(REPOSITORY, "theirs", title="Not mine")
        with pytest.raises(ForgeAnswered, match="422"):
            visitor.open_pull_request(REPOSITORY, "developer:theirs", title="No such fork")

    def test_one_can_fork_on_the_page(self, forge, sha):
        secret = csrf(ask(forge, "GET", "/acme/infra", user="visitor")[2])
        status, headers, _ = ask(forge, "POST", "/acme/infra/fork", {"csrf": secret}, user="visitor")
        assert (status, headers["Location"]) == (303, f"{forge.url}/visitor/infra")


class TestRefs:
    def test_readers_move_nothing(self, visitor, sha):
        with pytest.raises(ForgeAnswered, match="403"):
            visitor.force_push(REPOSITORY, "main", sha)


class TestMerging:
    @pytest.fixture
    def head(self, developer, sha):
        return developer.push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="more", base="main")

    @pytest.fixture
    def number(self, developer, head):
        return developer.open_pull_request(REPOSITORY, "more", title="More")

    def state(self, api, number):
        return api.call("GET", f"{IN}/pulls/{number}", token="visitor")["mergeable_state"]

    def test_checks_that_have_not_succeeded_make_a_pull_request_unstable(self, api, number, head):
        token = api.installation_token()
        run = api.call("POST", f"{IN}/check-runs", {"name": "plan", "head_sha": head}, token=token)
        assert self.state(api, number) == "unstable"
        api.call("PATCH", f"{IN}/check-runs/{run['id']}", {"conclusion": "success"}, token=token)
        assert self.state(api, number) == "clean"
        api.call("POST", f"{IN}/statuses/{head}", {"state": "pending", "context": "ci"}, token=token)
        assert self.state(api, number) == "unstable"

    def test_a_protected_branch_takes_what_is_approved_by_who_may_write(self, api, forge, maintainer, visitor, number):
        maintainer.protect(REPOSITORY, approvals=1)
        visitor.review(REPOSITORY, number)
        assert self.state(api, number) == "blocked"
        assert "At least 1 approving review is required" in ask(forge, "GET", f"/acme/infra/pull/{number}")[2]
        with pytest.raises(ForgeAnswered, match=r"405.*approving review"):
            maintainer.merge_pull_request(REPOSITORY, number)
        ForgeClient(forge.url, "reviewer").review(REPOSITORY, number, "REQUEST_CHANGES", "Why?")
        maintainer.review(REPOSITORY, number)
        with pytest.raises(ForgeAnswered, match="Changes were requested"):
            maintainer.merge_pull_request(REPOSITORY, number)
        ForgeClient(forge.url, "reviewer").review(REPOSITORY, number)
        assert self.state(api, number) == "clean"
        assert maintainer.merge_pull_request(REPOSITORY, number)

    def test_a_protected_branch_waits_for_its_checks(self, api, maintainer, number, head):
        maintainer.protect(REPOSITORY, checks=["plan"])
        assert self.state(api, number) == "blocked"
        body = {"name": "plan", "head_sha": head, "conclusion": "success"}
        api.call("POST", f"{IN}/check-runs", body, token=api.installation_token())
        assert self.state(api, number) == "clean"

    def test_protection_is_read_back_and_set_by_admins_only(self, api, maintainer, developer, sha):
        with pytest.raises(ForgeAnswered, match="403"):
            developer.protect(REPOSITORY, approvals=1)
        maintainer.protect(REPOSITORY, approvals=2, checks=["plan"])
        found = api.call("GET", f"{IN}/branches/main", token="maintainer")["protection"]
        assert found["required_pull_request_reviews"]["required_approving_review_count"] == 2
        assert found["required_status_checks"]["contexts"] == ["plan"]
        assert api.call("GET", f"{IN}/branches/main", token="visitor")["protected"] is True
        with pytest.raises(ForgeAnswered, match="422"):
            maintainer.protect(REPOSITORY, approvals=9)
        with pytest.raises(ForgeAnswered, match="404"):
            maintainer.protect(REPOSITORY, "absent", approvals=1)

    def test_webhooks_about_new_commits_do_not_know_yet_whether_they_merge(self, receiver, number):
        (came,) = receiver.wait_for("pull_request", "opened")
        pull = came["payload"]["pull_request"]
        assert (pull["mergeable"], pull["mergeable_state"]) == (None, "unknown")

    @pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
    def test_a_commit_of_the_default_branch_leads_to_the_pull_request_that_brought_it(
        self, api, maintainer, number, sha, method
    ):
        merged = maintainer.merge_pull_request(REPOSITORY, number, method)
        token = api.installation_token()
        assert [one["number"] for one in api.call("GET", f"{IN}/commits/{merged}/pulls", token=token)] == [number]
        assert api.call("GET", f"{IN}/commits/{sha}/pulls", token=token) == []
        assert api.ask("GET", f"{IN}/commits/{'1' * 40}/pulls", token=token)[0] == 422

    @pytest.mark.parametrize(("ends", "status"), [("main...more", "ahead"), ("more...main", "behind")])
    def test_branches_are_compared_by_name_on_either_side(self, api, number, ends, status):
        assert api.call("GET", f"{IN}/compare/{ends}", token="visitor")["status"] == status
