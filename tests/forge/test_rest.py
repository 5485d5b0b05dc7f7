"""The REST API: every answer is held against GitHub's OpenAPI description (see conftest.Api.call)."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.forge.conftest import Api
from tests.forge.published import DESCRIPTION, validate
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.rest.api import ROUTES
from tidegate_local.forge.server import Forge
from tidegate_local.forge.settings import Settings

IN = "/repos/acme/infra"


@pytest.fixture
def token(api, sha):
    return api.installation_token()


def run(api, token, sha, **fields):
    body = {"name": "tidegate/deploy: network", "head_sha": sha, **fields}
    validate(DESCRIPTION["operations"]["POST /repos/{owner}/{repo}/check-runs"]["request"], body)
    return api.call("POST", f"{IN}/check-runs", body, token=token)


def test_every_route_is_an_operation_of_github():
    described = {re.sub(r"\{[^}]*\}", "{}", name) for name in DESCRIPTION["operations"]}
    ours = {re.sub(r"<[^>]*>", "{}", f"{route.method} {route.path}") for route in ROUTES}
    assert ours == described


class TestApp:
    def test_the_app_finds_itself_and_its_installation(self, api, sha):
        app = api.app_token()
        assert api.call("GET", "/app", token=app)["slug"] == "tidegate-local"
        found = api.call("GET", f"{IN}/installation", token=app)
        assert found["account"]["login"] == "acme"
        assert api.call("GET", f"/app/installations/{found['id']}", token=app)["id"] == found["id"]

    def test_a_token_is_limited_to_the_repositories_and_permissions_that_were_asked_for(self, api, maintainer, sha):
        maintainer.push("acme/other", {"a": "a"}, "Begin")
        app, owner = api.app_token(), api._forge.installation("acme")
        wanted = {"repositories": ["infra"], "permissions": {"contents": "read"}}
        answer = api.call("POST", f"/app/installations/{owner}/access_tokens", wanted, token=app)
        assert answer["permissions"] == {"metadata": "read", "contents": "read"}
        assert [one["name"] for one in answer["repositories"]] == ["infra"]
        assert api.ask("GET", "/repos/acme/other", token=answer["token"])[0] == 404
        status, _, body = api.ask("POST", f"{IN}/check-runs", {"name": "x", "head_sha": sha}, token=answer["token"])
        assert (status, body["message"]) == (403, "Resource not accessible by integration")

    @pytest.mark.parametrize(
        "wanted",
        [
            {"repositories": ["absent"]},
            {"permissions": {"administration": "write"}},
            {"permissions": {"members": "write"}},
        ],
    )
    def test_a_token_for_more_than_the_installation_has_is_refused(self, api, sha, wanted):
        path = f"/app/installations/{api._forge.installation('acme')}/access_tokens"
        assert api.ask("POST", path, wanted, token=api.app_token())[0] == 422

    def test_a_token_of_one_installation_does_not_see_anothers_repositories(self, api, maintainer, sha):
        maintainer.push("globex/secret", {"a": "a"}, "Begin")
        assert api.ask("GET", "/repos/globex/secret", token=api.installation_token("acme"))[0] == 404
        assert api.ask("GET", "/repos/globex/secret", token=api.installation_token("globex"))[0] == 200

    @pytest.mark.parametrize(
        ("lifetime", "claims"),
        [(-120, {}), (3600, {}), (300, {"iat": 4_000_000_000})],
        ids=["expired", "too long", "issued in the future"],
    )
    def test_a_jwt_that_does_not_hold_is_refused(self, api, sha, lifetime, claims):
        assert api.ask("GET", "/app", token=api.app_token(lifetime, **claims))[0] == 401

    def test_a_jwt_of_an_unknown_app_or_with_an_altered_signature_is_refused(self, api, sha):
        assert api.ask("GET", "/app", token=api.app_token(iss="9"))[0] == 404
        header, body, signature = api.app_token().split(".")
        assert api.ask("GET", "/app", token=f"{header}.{body}.{signature[::-1]}")[0] == 401

    def test_tokens_expire(self, tmp_path):
        with Forge(tmp_path / "short", settings=Settings(token_lifetime=-1)) as forge:
            ForgeClient(forge.url).push("acme/infra", {"a": "a"}, "Begin")
            api = Api(forge)
            assert api.ask("GET", IN, token=api.installation_token())[0] == 401

    def test_without_credentials_nothing_is_answered(self, api, sha):
        assert api.ask("GET", IN)[0] == 401
        assert api.ask("GET", IN, token="guess")[0] == 401
        assert api.ask("GET", "/app", token="maintainer")[0] == 401


class TestRepositories:
    def test_a_repository_tells_its_default_branch_and_clone_url(self, api, token, forge):
        found = api.call("GET", IN, token=token)
        assert (found["default_branch"], found["clone_url"]) == ("main", f"{forge.url}/acme/infra.git")

    def test_names_are_found_in_any_case(self, api, token):
        assert api.call("GET", "/repos/Acme/INFRA", token=token)["full_name"] == "acme/infra"

    @pytest.mark.parametrize(
        ("base", "head", "status", "counts"),
        [
            ("first", "second", "ahead", (1, 0)),
            ("second", "first", "behind", (0, 1)),
            ("first", "first", "identical", (0, 0)),
            ("aside", "second", "diverged", (1, 1)),
        ],
    )
    def test_comparing_tells_how_the_head_relates_to_the_base(
        self, api, token, maintainer, sha, *, base, head, status, counts
    ):
        aside = maintainer.push("acme/infra", {"c.tf": "# c\n"}, "Aside", branch="aside", base="main")
        second = maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second")
        commits = {"first": sha, "second": second, "aside": aside}
        answer = api.call("GET", f"{IN}/compare/{commits[base]}...{commits[head]}", token=token)
        assert (answer["status"], (answer["ahead_by"], answer["behind_by"])) == (status, counts)
        assert answer["merge_base_commit"]["sha"] == sha

    def test_commits_are_listed_newest_first(self, api, token, maintainer, sha):
        second = maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second")
        assert [one["sha"] for one in api.call("GET", f"{IN}/commits", token=token)] == [second, sha]

    def test_the_first_branch_of_a_repository_becomes_its_default_branch(self, api, maintainer):
        maintainer.push("acme/old", {"a": "a"}, "Begin", branch="trunk")
        assert api.call("GET", "/repos/acme/old", token="maintainer")["default_branch"] == "trunk"

    def test_unknown_commits_are_refused_as_github_does(self, api, token):
        assert api.ask("GET", f"{IN}/compare/{'0' * 40}...main", token=token)[0] == 404
        assert api.ask("GET", f"{IN}/commits/{'1' * 40}", token=token)[0] == 422

    @pytest.mark.parametrize(
        ("user", "permission", "pushes"),
        [
            ("maintainer", "admin", True),
            ("reviewer", "write", True),
            ("developer", "write", True),
            ("visitor", "read", False),
            ("outsider", "none", False),
        ],
    )
    def test_collaborators_have_permissions(self, api, token, *, user, permission, pushes):
        answer = api.call("GET", f"{IN}/collaborators/{user}/permission", token=token)
        assert (answer["permission"], answer["user"]["permissions"]["push"]) == (permission, pushes)

    def test_a_stranger_is_no_user(self, api, token):
        assert api.ask("GET", f"{IN}/collaborators/stranger/permission", token=token)[0] == 404

    def test_statuses_are_kept_and_combined(self, api, token, sha):
        for state in ("pending", "success"):
            api.call("POST", f"{IN}/statuses/{sha}", {"state": state, "context": "ci"}, token=token)
        assert api.call("GET", f"{IN}/commits/{sha}/status", token=token)["state"] == "success"

    def test_the_person_is_told(self, api, token):
        assert api.call("GET", "/user", token="reviewer")["login"] == "reviewer"

    def test_an_empty_repository_is_made_for_a_person(self, api, maintainer):
        api.call("POST", "/orgs/globex/repos", {"name": "empty"}, token="maintainer")
        assert api.ask("POST", "/orgs/globex/repos", {"name": "empty"}, token="maintainer")[0] == 422
        assert api.ask("POST", "/orgs/globex/repos", {"name": "no"}, token="visitor")[0] == 403


def _git(directory, *arguments):
    person = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *person, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


class TestCheckRuns:
    def test_a_check_run_is_made_changed_and_found(self, api, token, sha):
        made = run(api, token, sha, external_id="d-1", status="in_progress")
        assert made["status"] == "in_progress"
        output = {"title": "Done", "summary": "**Fine**", "text": "text"}
        changed = api.call(
            "PATCH", f"{IN}/check-runs/{made['id']}", {"conclusion": "success", "output": output}, token=token
        )
        assert (changed["status"], changed["conclusion"], changed["external_id"]) == ("completed", "success", "d-1")
        assert api.call("GET", f"{IN}/check-runs/{made['id']}", token=token)["output"]["title"] == "Done"

    def test_runs_of_a_commit_are_filtered_by_name_and_newest_of_a_name(self, api, token, sha):
        first, second = run(api, token, sha), run(api, token, sha)
        other = run(api, token, sha, name="other")

        def ids(query):
            found = api.call("GET", f"{IN}/commits/{sha}/check-runs?{query}", token=token)
            assert found["total_count"] == len(found["check_runs"])
            return [one["id"] for one in found["check_runs"]]

        assert ids("") == [other["id"], second["id"]]
        assert ids("filter=all") == [other["id"], second["id"], first["id"]]
        assert ids("check_name=other&filter=all") == [other["id"]]

    def test_lists_are_paged_with_links(self, api, token, sha, forge):
        for number in range(5):
            run(api, token, sha, name=f"run {number}")
        _, headers, body = api.ask("GET", f"{IN}/commits/{sha}/check-runs?per_page=2", token=token)
        assert (body["total_count"], len(body["check_runs"])) == (5, 2)
        assert f'<{forge.api_url}{IN}/commits/{sha}/check-runs?per_page=2&page=2>; rel="next"' in headers["Link"]

    def test_annotations_are_appended(self, api, token, sha):
        note = {
            "path": "network/main.tf",
            "start_line": 1,
            "end_line": 1,
            "annotation_level": "failure",
            "message": "no",
        }
        made = run(api, token, sha, output={"title": "t", "summary": "s", "annotations": [note]})
        more = {"output": {"title": "t", "summary": "s", "annotations": [{**note, "title": "again"}]}}
        api.call("PATCH", f"{IN}/check-runs/{made['id']}", more, token=token)
        assert api.call("GET", f"{IN}/check-runs/{made['id']}", token=token)["output"]["annotations_count"] == 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"output": {"title": "t", "summary": "x" * 65_536}},
            {"output": {"title": "t", "summary": "s", "text": "x" * 65_536}},
            {"output": {"title": "t"}},
            {"status": "completed"},
            {"status": "done"},
            {"conclusion": "maybe"},
            {"head_sha": "0" * 40},
            {"name": ""},
            {"started_at": "yesterday"},
            {"actions": [{"label": "a", "description": "b", "identifier": "c"}] * 4},
            {"actions": [{"label": "x" * 21, "description": "b", "identifier": "c"}]},
            {"actions": [{"label": "a", "description": "x" * 41, "identifier": "c"}]},
            {"actions": [{"label": "a", "description": "b", "identifier": "x" * 21}]},
            {"actions": [{"label": "a", "description": "b"}]},
            {"output": {"title": "t", "summary": "s", "annotations": [{"path": "a"}]}},
        ],
    )
    def test_what_github_refuses_is_refused(self, api, token, sha, wrong):
        body = {"name": "x", "head_sha": sha, **wrong}
        status, _, answer = api.ask("POST", f"{IN}/check-runs", body, token=token)
        assert (status, answer["status"]) == (422, "422")
        assert answer["message"]

    def test_texts_and_buttons_of_the_largest_size_are_taken(self, api, token, sha):
        actions = [{"label": "l" * 20, "description": "d" * 40, "identifier": f"{n}" * 20} for n in range(3)]
        output = {"title": "t", "summary": "ü" * 65_535, "text": "x" * 65_535}
        assert run(api, token, sha, output=output, actions=actions)["output"]["text"] == "x" * 65_535

    def test_only_an_app_makes_check_runs(self, api, sha):
        status, _, body = api.ask("POST", f"{IN}/check-runs", {"name": "x", "head_sha": sha}, token="maintainer")
        assert (status, body["message"]) == (403, "You must authenticate via a GitHub App.")

    @pytest.mark.parametrize("body", [b"{", b"[]", b"\xff"])
    def test_a_body_that_is_no_json_object_is_refused(self, api, token, body):
        assert api.ask("POST", f"{IN}/check-runs", body, token=token)[0] == 400


class TestPullRequests:
    @pytest.fixture
    def number(self, maintainer, sha):
        maintainer.push("acme/infra", {"b.tf": "# b\n"}, "Second", branch="more", base="main")
        return maintainer.open_pull_request("acme/infra", "more", title="More", body="Because")

    def test_a_pull_request_is_opened_listed_and_read(self, api, token, number):
        one = api.call("GET", f"{IN}/pulls/{number}", token=token)
        assert (one["title"], one["mergeable"]) == ("More", True)
        assert [pull["number"] for pull in api.call("GET", f"{IN}/pulls", token=token)] == [number]
        assert api.call("GET", f"{IN}/pulls?state=closed", token=token) == []

    def test_a_pull_request_without_commits_or_branch_or_a_second_one_is_refused(self, api, number):
        for wrong in ({"head": "main"}, {"head": "absent"}, {"head": "more"}, {"title": ""}):
            body = {"title": "x", "head": "more", "base": "main", **wrong}
            assert api.ask("POST", f"{IN}/pulls", body, token="maintainer")[0] == 422
        assert api.ask("POST", f"{IN}/pulls", {"title": "x", "head": "more", "base": "main"}, token="visitor")[0] == 403

    @pytest.mark.parametrize(("method", "parents"), [("merge", 2), ("squash", 1), ("rebase", 1)])
    def test_merging_moves_the_base_branch(self, api, token, number, sha, *, method, parents):
        body = {"merge_method": method}
        merged = api.call("PUT", f"{IN}/pulls/{number}/merge", body, token="maintainer")["sha"]
        commit = api.call("GET", f"{IN}/commits/main", token=token)
        assert (commit["sha"], len(commit["parents"]), commit["parents"][0]["sha"]) == (merged, parents, sha)
        pull = api.call("GET", f"{IN}/pulls/{number}", token=token)
        assert (pull["merged"], pull["state"], pull["merge_commit_sha"]) == (True, "closed", merged)
        assert api.ask("PUT", f"{IN}/pulls/{number}/merge", body, token="maintainer")[0] == 405

    def test_a_conflict_or_a_moved_head_is_not_merged(self, api, token, maintainer, number):
        assert api.ask("PUT", f"{IN}/pulls/{number}/merge", {"sha": "0" * 40}, token="maintainer")[0] == 409
        maintainer.push("acme/infra", {"b.tf": "# another\n"}, "Conflict")
        assert api.call("GET", f"{IN}/pulls/{number}", token=token)["mergeable"] is False
        assert api.ask("PUT", f"{IN}/pulls/{number}/merge", {}, token="maintainer")[0] == 405
        assert api.ask("PUT", f"{IN}/pulls/{number}/merge", {}, token="visitor")[0] == 403

    def test_a_pull_request_is_edited_closed_and_reopened(self, api, token, number, receiver):
        for change in ({"title": "Better"}, {"state": "closed"}, {"state": "open"}):
            answer = api.call("PATCH", f"{IN}/pulls/{number}", change, token=token)
            assert {name: answer[name] for name in change} == change
        for action in ("edited", "closed", "reopened"):
            (came,) = receiver.wait_for("pull_request", action)
            validate(DESCRIPTION["webhooks"][f"pull-request-{action}"], came["payload"])
        assert api.ask("PATCH", f"{IN}/pulls/{number}", {"state": "gone"}, token=token)[0] == 422

    def test_comments_are_written_and_changed(self, api, token, number):
        made = api.call("POST", f"{IN}/issues/{number}/comments", {"body": "Plan"}, token=token)
        assert (made["user"]["type"], made["performed_via_github_app"]["slug"]) == ("Bot", "tidegate-local")
        api.call("PATCH", f"{IN}/issues/comments/{made['id']}", {"body": "New plan"}, token=token)
        assert [one["body"] for one in api.call("GET", f"{IN}/issues/{number}/comments", token=token)] == ["New plan"]

    def test_a_push_of_its_commits_to_the_base_branch_closes_a_pull_request(
        self, api, token, maintainer, number, tmp_path
    ):
        head = api.call("GET", f"{IN}/pulls/{number}", token=token)["head"]["sha"]
        _git(tmp_path, "clone", "--quiet", maintainer.clone_url("acme/infra"), "copy")
        _git(tmp_path / "copy", "push", "--quiet", "origin", f"{head}:refs/heads/main")
        assert api.call("GET", f"{IN}/pulls/{number}", token=token)["merged"] is True
