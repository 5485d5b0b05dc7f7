"""From the one-time code to an App that is ready: in a browser, through the forge's own pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.fakes.ports import changed
from tidegate.setup.adapters.manifests import GitHubAppManifests
from tidegate.setup.rules.setup_code import CODE_SECONDS, SetupCode, digest
from tidegate_local.forge.server import Forge

SIZES = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 800}}


@pytest.fixture
def forge(tmp_path):
    with Forge(tmp_path / "forge") as forge:
        yield forge


@pytest.fixture
def code(site, forge):
    """Return the one-time code of an installation whose forge is the local one."""
    manifests = GitHubAppManifests(url=forge.url, api_url=forge.api_url)
    site.wires.ports = changed(
        site.wires.ports, {"TIDEGATE_WEBHOOK_URL": f"{site.url}/webhooks/github"}, app_manifests=manifests
    )
    site.wires.setup_codes.put(SetupCode(digest("one-time-code"), int(site.wires.now) + CODE_SECONDS))
    return "one-time-code"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_app_is_created_in_five_clicks(site, forge, code, visit, size, scripts):
    page = visit("/setup", viewport=SIZES[size], java_script_enabled=scripts)
    page.get_by_label("One-time code").fill(code)
    page.get_by_label("Organization").fill("acme")
    page.get_by_label("Report drift in issues").check()
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Create it on GitHub").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Create a GitHub App for acme")
    page.get_by_role("button", name="Create GitHub App for acme").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tidegate acme is created")
    expect(page.get_by_text("To do")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
    assert sorted(site.wires.app_secrets.stored) == ["github-app", "webhook-secret"]
    assert forge.hosting.webhooks.url == f"{site.url}/webhooks/github"
    page.get_by_role("link", name="Install on GitHub").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Tidegate acme is installed")
