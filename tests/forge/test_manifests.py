"""The manifest flow: the forge's answers are GitHub's, and our adapter goes through it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.forge.pages import ask, csrf
from tests.forge.published import operation_of, validate
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable
from tidegate.setup.adapters.manifests import GitHubAppManifests
from tidegate.setup.rules.app_needs import manifest, missing, needs

HERE = "http://127.0.0.1:9"
HOOK = f"{HERE}/webhooks/github"
NEEDED = needs(("issues", "updates"), has_operators=False)
NEW = "/organizations/acme/settings/apps/new?state=s1"


def created(forge, name="Mine", **fields):
    """Go through the pages as a person does, and return the query with which the forge sends them back."""
    text = json.dumps({**manifest(HERE, HOOK, "Tidegate", NEEDED), **fields})
    status, _, page = ask(forge, "POST", NEW, {"manifest": text})
    assert status == 200, page
    form = {"csrf": csrf(page), "manifest": text, "state": "s1", "name": name}
    status, headers, page = ask(forge, "POST", "/settings/apps", form)
    assert status == 303, page
    assert headers["Location"].startswith(f"{HERE}/setup/created?")
    return {key: values[0] for key, values in parse_qs(urlsplit(headers["Location"]).query).items()}


@pytest.fixture
def manifests(forge):
    return GitHubAppManifests(url=forge.url, api_url=forge.api_url)


def test_a_code_is_exchanged_once_for_an_answer_that_github_describes(forge, api):
    back = created(forge)
    assert back["state"] == "s1"
    path = f"/app-manifests/{back['code']}/conversions"
    status, _, answer = api.ask("POST", path)
    assert status == 201
    validate(operation_of("POST", path)["responses"]["201"], answer)
    assert answer["name"] == "Mine"
    assert api.ask("POST", path)[0] == 404


def test_the_app_that_is_taken_over_has_what_the_manifest_asked_for(forge, manifests):
    app = manifests.convert(created(forge)["code"])
    granted = manifests.granted(app)
    assert missing(granted, NEEDED) == []
    assert granted.webhook == HOOK
    assert app.page == f"{forge.url}/apps/tidegate-local"
    assert app.private_key not in repr(app)
    assert app.webhook_secret not in repr(app)


@pytest.mark.parametrize("code", ["", "unknown", "../app", "x" * 300])
def test_an_invalid_code_gets_no_app(manifests, code):
    assert manifests.convert(code) is None


def test_a_forge_that_does_not_answer_is_told():
    with pytest.raises(ForgeUnavailable):
        GitHubAppManifests(url=HERE, api_url=HERE).convert("code")


def test_an_app_whose_key_is_of_another_is_told(forge, manifests):
    app = replace(manifests.convert(created(forge)["code"]), id=1)
    with pytest.raises(ForgeRefused):
        manifests.granted(app)


@pytest.mark.parametrize(
    "wrong",
    [
        {"default_permissions": {"checks": "admin"}},
        {"default_permissions": {"unknown": "read"}},
        {"default_events": ["unknown"]},
        {"hook_attributes": {}},
        {"url": None},
    ],
)
def test_a_manifest_that_github_would_refuse_is_refused(forge, wrong):
    text = json.dumps({**manifest(HERE, HOOK, "Tidegate", NEEDED), **wrong})
    assert ask(forge, "POST", NEW, {"manifest": text})[0] == 422


def test_only_the_forges_own_page_creates_an_app(forge):
    text = json.dumps(manifest(HERE, HOOK, "Tidegate", NEEDED))
    assert ask(forge, "POST", "/settings/apps", {"manifest": text, "name": "Mine", "csrf": ""})[0] == 403


def test_the_app_has_a_page_to_install_it(forge):
    status, _, page = ask(forge, "GET", "/apps/tidegate-local/installations/new")
    assert (status, bool(re.search("installed", page))) == (200, True)
