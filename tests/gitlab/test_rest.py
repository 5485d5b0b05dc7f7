"""The REST API: every answer is held against what is published of it (see conftest.Api.call)."""

from __future__ import annotations

import urllib.parse
import urllib.request

import pytest

from tests.gitlab.conftest import IN, PROJECT, PUBLISHED
from tests.gitlab.git import address, clones, git
from tidegate_local.gitlab.rest.api import ROUTES


def test_every_route_says_what_its_answer_is_published_as():
    assert {f"{route.method} {route.path}" for route in ROUTES} == set(PUBLISHED)


class TestCallers:
    def test_the_product_finds_itself_by_its_token(self, api):
        found = api.call("GET", "/user")
        assert (found["username"], found["bot"]) == ("tidegate-bot", True)

    def test_a_token_finds_what_it_may_whatever_that_is(self, api, gitlab):
        assert api.call("GET", "/personal_access_tokens/self")["scopes"] == ["api"]
        assert api.call("GET", "/personal_access_tokens/self", token=gitlab.clone_token)["scopes"] == [
            "read_repository"
        ]
        assert api.ask("GET", "/personal_access_tokens/self")[0] == 401

    def test_who_has_a_token_is_told_the_version(self, api, gitlab):
        assert api.call("GET", "/metadata")["version"].startswith("17.")
        assert [api.ask("GET", "/metadata", token=token)[0] for token in ("", gitlab.clone_token)] == [401, 403]

    @pytest.mark.parametrize("header", ["PRIVATE-TOKEN", "Authorization"])
    def test_tokens_are_taken_in_both_headers(self, gitlab, header):
        value = gitlab.bot_token if header == "PRIVATE-TOKEN" else f"Bearer {gitlab.bot_token}"
        request = urllib.request.Request(f"{gitlab.api_url}/user", headers={header: value})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200

    def test_unknown_and_missing_tokens_are_unauthorized(self, api, sha):
        for token in ("", "guess"):
            assert api.ask("GET", "/user", token=token)[::2] == (401, {"message": "401 Unauthorized"})

    def test_a_token_for_repositories_cannot_call_the_api(self, gitlab, api, sha):
        status, _, body = api.ask("GET", IN, token=gitlab.clone_token)
        assert (status, body["error"], body["scope"]) == (403, "insufficient_scope", "api read_api")

    def test_a_private_project_is_not_there_for_those_who_are_no_members(self, api, sha):
        for token in ("", "outsider"):
            assert api.ask("GET", IN, token=token)[::2] == (404, {"message": "404 Project Not Found"})

    def test_too_low_a_level_is_forbidden(self, api, sha):
        status, _, body = api.ask("POST", f"{IN}/statuses/{sha}", {"state": "success"}, token="visitor")
        assert (status, body) == (403, {"message": "403 Forbidden"})

    def test_users_are_found_by_name_whatever_its_case(self, api):
        (found,) = api.call("GET", "/users?username=REVIEWER")
        assert found["username"] == "reviewer"
        assert api.call("GET", "/users?username=nobody") == []


class TestProjects:
    def test_a_project_is_found_by_its_path_and_by_its_number(self, api, gitlab, sha):
        found = api.call("GET", IN)
        assert api.call("GET", f"/projects/{found['id']}") == found
        assert (found["path_with_namespace"], found["default_branch"]) == (PROJECT, "main")
        assert found["http_url_to_repo"] == f"{gitlab.url}/{PROJECT}.git"
        assert found["namespace"]["full_path"] == "acme/live"

    def test_a_slash_that_is_not_encoded_names_no_project(self, api, sha):
        assert api.ask("GET", f"/projects/{PROJECT}", token="maintainer")[0] == 404

    def test_paths_are_found_in_any_case(self, api, sha):
        assert api.call("GET", "/projects/ACME%2Flive%2FInfra")["path_with_namespace"] == PROJECT

    def test_a_person_makes_a_project_in_a_group(self, api, maintainer, sha):
        maintainer.create_project("acme/live/other")
        assert api.call("GET", "/projects/acme%2Flive%2Fother")["default_branch"] is None

    @pytest.mark.parametrize("name", ["infra", "-x", "a.git", "a b"])
    def test_names_that_are_taken_or_cannot_be_are_refused(self, api, sha, name):
        group = api.call("GET", "/groups/acme%2Flive")["id"]
        status, _, body = api.ask("POST", "/projects", {"path": name, "namespace_id": group}, token="maintainer")
        assert (status, list(body["message"])) == (400, ["path"])

    def test_a_public_project_is_read_by_everybody(self, api, maintainer, sha):
        maintainer.call("PUT", IN, {"visibility": "public"})
        assert api.ask("GET", IN)[2]["visibility"] == "public"
        assert api.ask("GET", f"{IN}/repository/branches/main", token="outsider")[0] == 200


class TestMembers:
    @staticmethod
    def number(api, name):
        return api.call("GET", f"/users?username={name}")[0]["id"]

    def test_levels_of_groups_above_hold_in_projects_and_the_highest_does(self, api, gitlab, person, sha):
        levels, number = gitlab.hosting.identities, self.number(api, "outsider")
        levels.set_level("acme", "outsider", 20)
        assert api.call("GET", f"{IN}/members/all/{number}")["access_level"] == 20
        assert person("outsider").project(PROJECT)["permissions"]["group_access"]["access_level"] == 20
        levels.set_level(PROJECT, "outsider", 40)
        assert api.call("GET", f"{IN}/members/all/{number}")["access_level"] == 40

    def test_a_team_is_a_subgroup_with_members_of_its_own(self, api, sha):
        for name, status in (("maintainer", 200), ("reviewer", 200), ("developer", 404)):
            path = f"/groups/acme%2Fplatform/members/{self.number(api, name)}"
            assert api.ask("GET", path, token="maintainer")[0] == status

    def test_somebody_who_is_nowhere_a_member_is_not_found(self, api, maintainer, sha):
        path = f"/groups/acme/members/{self.number(api, 'outsider')}"
        assert api.ask("GET", path, token="maintainer")[::2] == (404, {"message": "404 Not found"})
        assert api.ask("GET", "/groups/absent", token="maintainer")[2] == {"message": "404 Group Not Found"}


class TestPages:
    def test_lists_come_in_pages(self, api, maintainer, sha):
        for number in range(5):
            maintainer.push(PROJECT, {"a": str(number)}, f"Change {number}")
        path = f"{IN}/repository/commits"
        assert [one["title"] for one in api.call("GET", f"{path}?per_page=2&page=2")] == ["Change 2", "Change 1"]
        assert len(api.call("GET", path)) == 6
        assert api.call("GET", f"{path}?page=2") == []


class TestEvents:
    def test_pushes_are_listed_newest_first_with_who_made_them(self, api, sha, head):
        branch, main = api.call("GET", f"{IN}/events?action=pushed")
        assert (branch["author_username"], branch["push_data"]["action"]) == ("developer", "created")
        assert (branch["push_data"]["ref"], branch["push_data"]["commit_to"]) == ("feature/b", head)
        assert (main["push_data"]["ref"], main["push_data"]["commit_to"]) == ("main", sha)

    def test_a_merge_is_a_push_by_who_merged(self, api, maintainer, iid):
        merged = maintainer.merge(PROJECT, iid)
        newest = api.call("GET", f"{IN}/events?action=pushed&sort=desc")[0]
        assert (newest["author_username"], newest["push_data"]["commit_to"]) == ("maintainer", merged)

    def test_a_push_of_many_branches_names_none(self, api, gitlab, tmp_path, sha):
        assert clones(gitlab, "maintainer", tmp_path)
        wanted = [f"{sha}:refs/heads/branch-{number}" for number in range(4)]
        assert git("push", address(gitlab, "maintainer"), *wanted, cwd=tmp_path / "clone")[0]
        (many,) = [one for one in api.call("GET", f"{IN}/events") if one["push_data"]["ref_count"]]
        assert (many["push_data"]["ref_count"], many["push_data"]["commit_to"]) == (4, None)


class TestRepository:
    def test_a_branch_with_a_slash_is_found_by_its_encoded_name(self, api, head):
        found = api.call("GET", f"{IN}/repository/branches/feature%2Fb")
        assert (found["name"], found["commit"]["id"], found["protected"]) == ("feature/b", head, False)
        assert api.call("GET", f"{IN}/repository/branches/main")["protected"] is True
        absent = api.ask("GET", f"{IN}/repository/branches/absent", token="maintainer")
        assert absent[::2] == (404, {"message": "404 Branch Not Found"})

    def test_comparing_tells_what_a_branch_has_more(self, api, maintainer, sha, head):
        aside = maintainer.push(PROJECT, {"c.tf": "# c\n"}, "Aside")
        found = api.call("GET", f"{IN}/repository/compare?from={aside}&to={head}")
        assert [one["id"] for one in found["commits"]] == [head]
        nothing = api.call("GET", f"{IN}/repository/compare?from={sha}&to={sha}")
        assert nothing["commits"] == []

    def test_comparing_with_an_unknown_commit_is_not_found(self, api, sha):
        status, _, body = api.ask("GET", f"{IN}/repository/compare?from={'1' * 40}&to=main", token="maintainer")
        assert (status, body) == (404, {"message": "404 Ref Not Found"})

    def test_commits_without_common_history_are_compared_and_have_no_merge_base(self, api, gitlab, sha):
        git = gitlab.hosting.git(gitlab.hosting.project(PROJECT))
        one = git.commit(sha)
        other = git.commit_tree(one.tree, (), "Begin elsewhere", one.author, one.committer)
        found = api.call("GET", f"{IN}/repository/compare?from={sha}&to={other}")
        assert [each["id"] for each in found["commits"]] == [other]
        none = api.ask("GET", f"{IN}/repository/merge_base?refs[]={sha}&refs[]={other}", token="maintainer")
        assert none[::2] == (404, {"message": "404 Merge Base Not Found"})

    def test_the_merge_base_of_commits(self, api, maintainer, sha, head):
        aside = maintainer.push(PROJECT, {"c.tf": "# c\n"}, "Aside")
        path = f"{IN}/repository/merge_base?refs[]={aside}&refs[]={head}"
        assert api.call("GET", path)["id"] == sha
        unknown = api.ask("GET", f"{IN}/repository/merge_base?refs[]=main&refs[]=absent", token="maintainer")
        assert unknown[::2] == (400, {"message": "Could not find ref: absent"})
