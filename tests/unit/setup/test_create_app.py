"""The App is created once, by whoever has the last code, in the browser that began it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.fakes.ports import With, changed, memory_ports
from tidegate.rules.errors import Conflict
from tidegate.setup.create_app import begin_app, finish_app
from tidegate.setup.rules.app_needs import NEEDED_EVENTS, NEEDED_PERMISSIONS, OPTIONS, Granted, missing, needs
from tidegate.setup.rules.created_app import CreatedApp
from tidegate.setup.rules.refusals import (
    AlreadySetUp,
    AppNotCreated,
    NoSuchOrganization,
    SetupNotBegun,
    WrongSetupCode,
)
from tidegate.setup.rules.setup_code import CODE_SECONDS, STATE_SECONDS, SetupCode, digest

URL, CODE, NOW = "https://tidegate.example", "one-time-code", 1_800_000_000
HOOK = f"{URL}/webhooks/github"
APP = CreatedApp(7, "Tidegate", "https://forge.example/apps/tidegate", "client", "PEM", "client secret", "hook secret")
WHOLE = Granted(NEEDED_PERMISSIONS, NEEDED_EVENTS, HOOK)


@pytest.fixture
def time():
    return [NOW]


@pytest.fixture
def ports(time):
    made = memory_ports({"TIDEGATE_WEB_URL": URL}, seconds=lambda: time[0])
    made.setup_codes.put(SetupCode(digest(CODE), NOW + CODE_SECONDS))
    made.app_manifests.apps["github-code"] = APP
    made.app_manifests.has = WHOLE
    return made


def begun(ports, **given):
    return begin_app(ports, **{"code": CODE, "organization": "acme", "options": (), **given})


def test_the_app_is_created_with_what_it_needs_and_its_secrets_are_stored(ports):
    form = begun(ports)
    assert form.address == f"https://forge.example/organizations/acme/settings/apps/new?state={form.state}"
    assert form.manifest["default_permissions"] == NEEDED_PERMISSIONS
    assert form.manifest["hook_attributes"] == {"url": HOOK, "active": True}
    assert form.manifest["callback_urls"] == [f"{URL}/login/callback"]
    assert form.manifest["public"] is False
    finished = finish_app(ports, "github-code", form.state)
    assert finished.app == APP
    assert all(each.holds for each in finished.findings)
    assert '"app_id": "7"' in ports.app_secrets.stored["github-app"]
    assert ports.app_secrets.stored["webhook-secret"] == '{"secrets": ["hook secret"]}'


def test_a_code_is_refused_once_the_app_is_created(ports):
    finish_app(ports, "github-code", begun(ports).state)
    with pytest.raises(WrongSetupCode):
        begun(ports)


@pytest.mark.parametrize("code", ["", "another", f"{CODE}x", "\ud800"])
def test_another_code_is_refused(ports, code):
    with pytest.raises(WrongSetupCode):
        begun(ports, code=code)


def test_a_code_ends_after_a_day(ports, time):
    time[0] += CODE_SECONDS
    with pytest.raises(WrongSetupCode):
        begun(ports)


def test_without_a_code_nobody_begins_or_ends(ports):
    ports.setup_codes.remove()
    with pytest.raises(WrongSetupCode):
        begun(ports)
    with pytest.raises(SetupNotBegun):
        finish_app(ports, "github-code", "state")


@pytest.mark.parametrize("name", ["-acme", "acme/../x", "a b", "x" * 40, "ä"])
def test_what_no_organization_is_called_is_refused(ports, name):
    with pytest.raises(NoSuchOrganization):
        begun(ports, organization=name)


def test_without_an_organization_the_app_is_the_persons_own(ports):
    form = begun(ports, organization="")
    assert form.address.startswith("https://forge.example/settings/apps/new?")
    assert form.manifest["name"] == "Tidegate"


def test_a_name_is_as_long_as_github_allows(ports):
    assert len(begun(ports, organization="x" * 39).manifest["name"]) == 34


@pytest.mark.parametrize("stored", ["github-app", "webhook-secret"])
def test_an_app_that_exists_is_never_replaced(ports, stored):
    form = begun(ports)
    ports.app_secrets.stored[stored] = "{}"
    with pytest.raises(AlreadySetUp, match=stored):
        finish_app(ports, "github-code", form.state)
    assert "github-code" in ports.app_manifests.apps
    with pytest.raises(AlreadySetUp, match=stored):
        begun(ports)


def test_a_state_is_used_once(ports):
    form = begun(ports)
    ports.app_manifests.apps.clear()
    with pytest.raises(AppNotCreated):
        finish_app(ports, "github-code", form.state)
    with pytest.raises(SetupNotBegun):
        finish_app(ports, "github-code", form.state)


def test_a_state_that_another_browser_takes_meanwhile_is_used_once(ports):
    form = begun(ports)

    def taken(state):
        raise Conflict(state)

    slower = changed(ports, setup_codes=With(ports.setup_codes, claim=taken))
    with pytest.raises(SetupNotBegun):
        finish_app(slower, "github-code", form.state)


def test_a_code_that_is_replaced_meanwhile_is_refused(ports):
    old = ports.setup_codes.read()
    ports.setup_codes.put(SetupCode(digest("newer"), NOW + CODE_SECONDS))
    slower = changed(ports, setup_codes=With(ports.setup_codes, read=lambda: old))
    with pytest.raises(WrongSetupCode):
        begun(slower)


@pytest.mark.parametrize("state", ["", "another"])
def test_another_state_is_refused(ports, state):
    begun(ports)
    with pytest.raises(SetupNotBegun):
        finish_app(ports, "github-code", state)


def test_a_state_ends_after_an_hour(ports, time):
    form = begun(ports)
    time[0] += STATE_SECONDS
    with pytest.raises(SetupNotBegun):
        finish_app(ports, "github-code", form.state)


@pytest.mark.parametrize(
    ("has", "what"),
    [
        (None, "did not answer"),
        (replace(WHOLE, permissions={**NEEDED_PERMISSIONS, "checks": "read"}), "checks: write"),
        (replace(WHOLE, events=NEEDED_EVENTS - {"push"}), "the event push"),
        (replace(WHOLE, webhook="https://elsewhere.example"), "webhooks go elsewhere"),
    ],
)
def test_the_checks_say_what_the_app_lacks(ports, has, what):
    form = begun(ports)
    ports.app_manifests.has = has
    (to_do,) = [each for each in finish_app(ports, "github-code", form.state).findings if not each.holds]
    assert what in to_do.found
    assert to_do.do


def test_what_was_chosen_is_asked_for_and_checked(ports):
    form = begun(ports, options=[each.name for each in OPTIONS])
    assert form.manifest["default_permissions"]["issues"] == "write"
    assert form.manifest["default_permissions"]["contents"] == "write"
    assert "status" in form.manifest["default_events"]
    findings = finish_app(ports, "github-code", form.state).findings
    assert any("issues: write" in each.found for each in findings if not each.holds)


def test_an_installation_with_operators_asks_for_members():
    assert "members" not in needs((), has_operators=False).permissions
    assert needs(("unknown",), has_operators=True).permissions["members"] == "read"


def test_more_than_is_needed_is_enough():
    has = Granted(dict.fromkeys(NEEDED_PERMISSIONS, "admin"), NEEDED_EVENTS | {"fork"})
    assert missing(has, needs((), has_operators=False)) == []
