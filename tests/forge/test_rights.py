"""Who may do what: roles, private and public repositories, teams, and tokens that act for a person."""

from __future__ import annotations

import urllib.parse

import pytest

from tests.forge.conftest import Api
from tests.forge.pages import ask, csrf
from tidegate_local.forge.client import ForgeAnswered, ForgeClient
from tidegate_local.forge.server import Forge
from tidegate_local.forge.settings import Settings, Team

REPOSITORY, IN = "acme/infra", "/repos/acme/infra"


def teams(path):
    return Forge(path, settings=Settings(teams=(Team("platform", ("maintainer",), pending=("visitor",)),)))


class TestPrivateRepositories:
    def test_who_has_no_right_sees_nothing_of_a_private_repository(self, forge, api, sha):
        outsider = ForgeClient(forge.url, "outsider")
        assert api.ask("GET", IN, token="outsider")[0] == 404
        with pytest.raises(ForgeAnswered, match="not found"):
            outsider.push(REPOSITORY, {"a": "a"}, "No")
        for path in ("/acme/infra", f"/acme/infra/commit/{sha}", "/acme/infra/pulls"):
            assert ask(forge, "GET", path, user="outsider")[0] == 404
        assert "acme/infra<" not in ask(forge, "GET", "/", user="outsider")[2]

    def test_a_public_repository_is_read_by_everybody_and_written_by_those_who_may(self, forge, api, maintainer, sha):
        maintainer.create_repository("acme/open", private=False)
        one = api.call("GET", "/repos/acme/open", token="outsider")
        assert (one["private"], one["permissions"]["pull"], one["permissions"]["push"]) == (False, True, False)
        assert ask(forge, "GET", "/acme/open", user="outsider")[0] == 200
        answer = api.call("GET", "/repos/acme/open/collaborators/outsider/permission", token="maintainer")
        assert answer["permission"] == "read"
        with pytest.raises(ForgeAnswered, match="403"):
            ForgeClient(forge.url, "outsider").push("acme/open", {"a": "a"}, "No")

    def test_everybody_has_all_rights_in_their_own_repositories(self, forge, api):
        ForgeClient(forge.url, "outsider").push("outsider/notes", {"a": "a"}, "Begin")
        answer = api.call("GET", "/repos/outsider/notes/collaborators/outsider/permission", token="outsider")
        assert answer["permission"] == "admin"
        with pytest.raises(ForgeAnswered, match=r"404|not found"):
            ForgeClient(forge.url, "outsider").push("acme/new", {"a": "a"}, "No")


class TestTeams:
    @pytest.mark.parametrize(("user", "status"), [("maintainer", 200), ("reviewer", 200), ("developer", 404)])
    def test_the_platform_team_has_maintainer_and_reviewer(self, api, sha, user, status):
        path = f"/orgs/acme/teams/platform/memberships/{user}"
        assert api.ask("GET", path, token=api.installation_token())[0] == status

    def test_members_are_told_apart_from_those_who_were_only_invited(self, tmp_path):
        with teams(tmp_path / "teams") as forge:
            ForgeClient(forge.url).push(REPOSITORY, {"a": "a"}, "Begin")
            api = Api(forge)
            token = api.installation_token(permissions={"members": "read"})
            states = {
                user: api.call("GET", f"/orgs/acme/teams/platform/memberships/{user}", token=token)["state"]
                for user in ("maintainer", "visitor")
            }
            assert states == {"maintainer": "active", "visitor": "pending"}

    @pytest.mark.parametrize(
        "path", ["/orgs/acme/teams/absent", "/orgs/globex/teams/platform", "/orgs/visitor/teams/platform"]
    )
    def test_other_teams_and_organizations_are_not_found(self, api, sha, path):
        assert api.ask("GET", f"{path}/memberships/maintainer", token=api.installation_token())[0] == 404

    def test_a_token_without_the_permission_is_refused(self, api, sha):
        token = api.installation_token(permissions={"checks": "write"})
        assert api.ask("GET", "/orgs/acme/teams/platform/memberships/maintainer", token=token)[0] == 403


class TestSigningIn:
    @pytest.mark.parametrize("user", ["maintainer", "visitor", "outsider"])
    def test_a_script_gets_a_token_that_acts_for_the_person(self, forge, api, sha, user):
        token = ForgeClient(forge.url, user).user_token()
        assert token.startswith("ghu_")
        assert api.call("GET", "/user", token=token)["login"] == user
        assert api.ask("GET", IN, token=token)[0] == (404 if user == "outsider" else 200)

    def test_such_a_token_may_do_what_both_the_person_and_the_app_may(self, forge, api, sha):
        maintainer, developer = ForgeClient(forge.url), ForgeClient(forge.url, "developer")
        developer.push(REPOSITORY, {"b.tf": "# b\n"}, "Second", branch="more", base="main")
        number = developer.open_pull_request(REPOSITORY, "more", title="More")
        developer.fork(REPOSITORY)
        token = maintainer.user_token()
        assert api.ask("GET", f"{IN}/pulls/{number}", token=token)[0] == 200
        assert api.ask("PATCH", f"{IN}/pulls/{number}", {"title": "Even more"}, token=token)[0] == 200
        assert api.ask("GET", "/repos/developer/infra", token=token)[0] == 404  # the App is not installed there
        assert api.ask("GET", "/repos/developer/infra", token="maintainer")[0] == 200
        visiting = ForgeClient(forge.url, "visitor").user_token()
        assert api.ask("PATCH", f"{IN}/pulls/{number}", {"title": "No"}, token=visiting)[0] == 403

    def test_an_unknown_application_gets_nothing(self, forge):
        with pytest.raises(ForgeAnswered, match="404"):
            ForgeClient(forge.url).user_token(Settings(client_id="Iv1.unknown"))

    def test_a_wrong_secret_gets_nothing(self, forge):
        with pytest.raises(ForgeAnswered, match="client_secret"):
            ForgeClient(forge.url).user_token(Settings(client_secret="guess"))

    @pytest.mark.parametrize(
        "foreign",
        [
            "https://evil.invalid/",
            "http://localhost@evil.invalid/",
            "http://evil.invalid\\@localhost/",
            "javascript:alert(1)",
            "//evil.invalid",
            "http://localhost.evil.invalid/",
            "http://localhost/\r\nX: y",
            "",
        ],
    )
    def test_a_code_goes_to_this_machine_only(self, forge, foreign):
        known = {"client_id": forge.settings.client_id, "redirect_uri": foreign}
        query = urllib.parse.urlencode(known)
        assert ask(forge, "GET", f"/login/oauth/authorize?{query}")[0] == 422
        secret = csrf(ask(forge, "GET", "/")[2])
        assert ask(forge, "POST", "/login/oauth/authorize", {**known, "csrf": secret})[0] == 422

    def test_a_code_is_good_for_its_own_address_only(self, forge):
        settings, client = forge.settings, ForgeClient(forge.url)
        known = {"client_id": settings.client_id, "redirect_uri": "http://localhost:1/back"}
        page = f"/login/oauth/authorize?{urllib.parse.urlencode(known)}"
        back = client.submit_and_stay(page, "/login/oauth/authorize", known)
        (code,) = urllib.parse.parse_qs(urllib.parse.urlsplit(back).query)["code"]
        exchange = {
            **known,
            "client_secret": settings.client_secret,
            "code": code,
            "redirect_uri": "http://localhost:2/",
        }
        answer = ask(forge, "POST", "/login/oauth/access_token", exchange, Accept="application/json")[2]
        assert "redirect_uri_mismatch" in answer
