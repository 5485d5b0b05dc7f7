"""A person at the forge's pages, in a real browser: sees a run wait for review, presses Approve, sees the answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE
from tests.browser.site import CHROMIUM
from tests.forge.conftest import SECRET, Api, Receiver
from tidegate_local.forge.client import ForgeClient
from tidegate_local.forge.server import Forge

pytestmark = [
    pytest.mark.nightly,  # The page of a stand-in.
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]
IN = "/repos/acme/infra"
ACTIONS = [
    {"label": "Approve", "description": "Apply this plan", "identifier": "Approve"},
    {"label": "Reject", "description": "Discard this plan", "identifier": "Reject"},
]


@pytest.fixture
def forge(tmp_path):
    with Forge(tmp_path / "forge") as forge:
        yield forge


@pytest.fixture
def receiver(forge):
    receiver = Receiver()
    forge.point_webhook_at(receiver.url, SECRET)
    yield receiver
    receiver.close()


@pytest.fixture(params=["light", "dark"])
def page(chromium, request):
    context = chromium.new_context(color_scheme=request.param)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda message: page.problems.append(message.text) if message.type == "error" else None)
    yield page
    assert page.problems == []
    context.close()


@pytest.fixture
def sha(forge):
    return ForgeClient(forge.url).push("acme/infra", {"network/main.tf": "# network\n"}, "Add the network")


@pytest.fixture
def waiting(forge, sha):
    """A check run that waits for review; returns its id and a way to publish more runs."""
    api = Api(forge)
    token = api.installation_token()

    def publish(**fields):
        body = {"name": "tidegate/deploy: network", "head_sha": sha, **fields}
        return api.call("POST", f"{IN}/check-runs", body, token=token)["id"]

    plan = "<details open><summary>Plan</summary>\n\n```diff\n+ a new thing\n- an old thing\n```\n\n</details>"
    output = {"title": "Plan: 1 to add, 1 to destroy", "summary": plan}
    return publish(conclusion="action_required", output=output, actions=ACTIONS), publish


def test_approve_is_pressed_and_the_page_follows_what_happens(forge, receiver, page, waiting):
    run, publish = waiting
    page.goto(f"{forge.url}/acme/infra")
    page.get_by_role("link", name="Action required").click()
    expect(page.get_by_role("heading", name="Plan: 1 to add, 1 to destroy")).to_be_visible()
    expect(page.get_by_text("- an old thing")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_contain_text("Approve was sent")
    (came,) = receiver.wait_for("check_run", "requested_action")
    assert came["payload"]["requested_action"]["identifier"] == "Approve"
    assert came["payload"]["check_run"]["id"] == run
    publish(conclusion="success", output={"title": "Applied", "summary": "Done"})
    page.get_by_role("link", name="Show it").click()
    expect(page.get_by_text("Successful", exact=True)).to_be_visible()


def test_somebody_else_can_be_chosen_and_is_told_as_the_sender(forge, receiver, page, waiting):
    run, _ = waiting
    page.goto(f"{forge.url}/acme/infra/runs/{run}")
    page.locator("summary", has_text="maintainer").click()
    page.get_by_role("button", name="visitor").click()
    expect(page.locator("summary", has_text="visitor")).to_be_visible()
    page.get_by_role("button", name="Reject").click()
    (came,) = receiver.wait_for("check_run", "requested_action")
    assert came["payload"]["sender"]["login"] == "visitor"


def test_a_branch_becomes_a_pull_request_and_is_merged(forge, receiver, page, sha):
    ForgeClient(forge.url).push("acme/infra", {"b.tf": "# b\n"}, "Add b", branch="feature/b", base="main")
    page.goto(f"{forge.url}/acme/infra")
    page.get_by_role("link", name="Compare & pull request").click()
    page.get_by_role("button", name="Create pull request").click()
    expect(page.get_by_role("heading", name="Add b #1")).to_be_visible()
    page.get_by_role("button", name="Merge pull request").click()
    expect(page.get_by_text("Pull request successfully merged")).to_be_visible()
    (came,) = receiver.wait_for("pull_request", "closed")
    assert came["payload"]["pull_request"]["merged"] is True


def test_what_a_person_writes_is_not_lost_when_the_page_changes(forge, page, waiting):
    client = ForgeClient(forge.url)
    client.push("acme/infra", {"b.tf": "# b\n"}, "Add b", branch="b", base="main")
    number = client.open_pull_request("acme/infra", "b", title="Add b")
    page.goto(f"{forge.url}/acme/infra/pull/{number}")
    page.get_by_label("Comment").fill("Half a thought")
    page.evaluate("refresh()")
    expect(page.get_by_label("Comment")).to_have_value("Half a thought")
