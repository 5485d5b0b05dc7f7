"""The page that creates the GitHub App: for whoever has the one-time code, in the browser that began."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from tests.api.scenario import URL, Client, WebScenario
from tidegate.setup.rules.app_needs import NEEDED_EVENTS, NEEDED_PERMISSIONS, Granted
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.setup.rules.setup_code import CODE_SECONDS, SetupCode, digest

CODE = "one-time-code"
APP = CreatedApp(
    7, "<b>Mine</b>", "https://forge.example/apps/mine", "client", "PEM-OF-APP", "client-secret-of-app", "hook-secret"
)


@pytest.fixture
def wires(wires):
    wires.ports.setup_codes.put(SetupCode(digest(CODE), int(wires.now) + CODE_SECONDS))
    wires.ports.app_manifests.apps["github-code"] = APP
    wires.ports.app_manifests.has = Granted(NEEDED_PERMISSIONS, NEEDED_EVENTS, f"{URL}/webhooks/github")
    return wires


def state_of(answer):
    return re.search(r"state=([\w-]+)", answer.body).group(1)


def test_somebody_with_the_code_creates_the_app(wires, stranger):
    assert "One-time code" in stranger.get("/setup").text
    begun = stranger.post_form("/setup", code=CODE, organization="acme", issues="1")
    form = json.loads(unescape(re.search(r'name="manifest" value="([^"]+)"', begun.body).group(1)))
    assert form["default_permissions"]["issues"] == "write"
    created = stranger.get(f"/setup/created?code=github-code&state={state_of(begun)}")
    assert created.status == 200, created.text
    assert 'href="https://forge.example/apps/mine/installations/new"' in created.body
    assert sorted(wires.ports.app_secrets.stored) == ["github-app", "webhook-secret"]


def test_the_form_may_be_sent_to_the_forge_and_nowhere_else(stranger):
    begun = stranger.post_form("/setup", code=CODE)
    policy = begun.headers["content-security-policy"]
    assert "form-action https://forge.example;" in policy
    assert "form-action 'self'" in stranger.get("/setup").headers["content-security-policy"]


def test_pages_show_no_secret_and_escape_names(stranger):
    begun = stranger.post_form("/setup", code=CODE)
    created = stranger.get(f"/setup/created?code=github-code&state={state_of(begun)}")
    assert not [one for one in ("PEM-OF-APP", "client-secret-of-app", "hook-secret", "<b>Mine") if one in created.body]


def test_a_wrong_code_is_refused_and_what_was_typed_stays(stranger):
    refused = stranger.post_form("/setup", code="wrong", organization="acme", updates="1")
    assert (refused.status, 'value="acme"' in refused.body) == (403, True)
    assert re.search(r'name="updates" value="1" checked', refused.body)
    assert "set-cookie" not in refused.headers


def test_an_impossible_organization_is_told_in_the_form(stranger):
    assert "cannot be an organization" in stranger.post_form("/setup", code=CODE, organization="a/b").text


def test_an_app_that_exists_stays(wires, stranger):
    wires.ports.app_secrets.stored["github-app"] = "{}"
    refused = stranger.post_form("/setup", code=CODE)
    assert (refused.status, "delete-secret" in refused.text) == (409, True)


def test_only_the_browser_that_began_can_end(wires, stranger):
    begun = stranger.post_form("/setup", code=CODE)
    address = f"/setup/created?code=github-code&state={state_of(begun)}"
    assert Client(wires).get(address).status == 400
    assert stranger.get("/setup/created?code=github-code&state=another").status == 400
    assert stranger.get("/setup/created").status == 400
    assert wires.ports.app_secrets.stored == {}


def test_a_code_of_github_that_does_not_hold_is_told(stranger):
    begun = stranger.post_form("/setup", code=CODE)
    assert stranger.get(f"/setup/created?code=other&state={state_of(begun)}").status == 409


def test_no_other_site_can_send_the_form(stranger):
    assert stranger.post_form("/setup", {"origin": "https://evil.example"}, code=CODE).status == 403


def test_a_form_with_too_many_fields_is_refused(stranger):
    assert stranger.post_form("/setup", **{f"f{number}": "1" for number in range(60)}).status == 400


def test_on_gitlab_there_is_no_such_page():
    stranger = Client(WebScenario({"TIDEGATE_FORGE": "gitlab", "TIDEGATE_FORGE_URL": "https://gitlab.example"}))
    assert (stranger.get("/setup").status, stranger.post_form("/setup", code=CODE).status) == (404, 404)
    assert stranger.get("/setup/created?code=x&state=y").status in {400, 404}
