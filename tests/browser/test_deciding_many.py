"""Deciding many plans at once in a real browser: with and without scripts, on small and large screens."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.api.plans import planned
from tests.browser.site import CHROMIUM
from tests.builders import any_root
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.ports import Enrolled

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]


@pytest.fixture
def change(site):
    """Two plans of stack dev and one of prod, which is protected."""
    rules = {"dev": ReviewRule(), "prod": ReviewRule(protected=True)}
    made = [
        planned(
            site.wires,
            number=number,
            root=any_root(name=f"root-{number}"),
            stack=stack,
            review_rule=rules[stack],
            change_set="c-1",
        )
        for number, stack in enumerate(["dev", "dev", "prod"], 1)
    ]
    site.wires.change_sets.enroll("c-1", [Enrolled(one.root.name, one.stack, one.id, one.request.at) for one in made])
    return made


def states(site, change):
    return [site.wires.deployments.get(one.id).state for one in change]


def test_all_plans_of_a_stack_are_selected_and_approved(site, visit, change):
    page = visit("/changes/c-1")
    page.get_by_label("Select all plans of dev that wait for a review").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_placeholder("Reason").fill("as agreed")
    page.get_by_role("button", name="Approve the selected").click()
    expect(page.get_by_role("heading", name="2 of 2 approved")).to_be_visible()
    assert states(site, change) == [State.APPROVED, State.APPROVED, State.AWAITING_REVIEW]


def test_what_is_selected_and_typed_stays_when_something_else_changes(site, visit, change):
    page = visit("/changes/c-1")
    page.get_by_label("Select root-3 in prod").check()
    page.get_by_placeholder("Reason").fill("as agreed")
    page.evaluate("document.activeElement.blur()")
    one = site.wires.deployments.get(change[0].id)
    site.wires.deployments.save(one.moved(State.APPROVED, one.changed_at, by="somebody"))
    expect(page.get_by_label("Select root-1 in dev")).to_have_count(0)
    expect(page.get_by_label("Select root-3 in prod")).to_be_checked()
    expect(page.get_by_placeholder("Reason")).to_have_value("as agreed")
    expect(page.get_by_text("1 selected")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_without_scripts_plans_are_selected_and_what_is_destroyed_is_asked_about(site, visit, change, width, scheme):
    size = {"width": width, "height": 800}
    page = visit("/changes/c-1", java_script_enabled=False, viewport=size, color_scheme=scheme)
    expect(page.get_by_label("Select all", exact=True)).to_be_hidden()
    page.get_by_label("Select root-1 in dev").check()
    page.get_by_label("Select root-3 in prod").check()
    page.get_by_role("button", name="Approve the selected").click()
    expect(page.get_by_role("heading", name="Approve what is destroyed?")).to_be_visible()
    assert set(states(site, change)) == {State.AWAITING_REVIEW}
    page.get_by_label("I understand, destroy this").check()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("heading", name="2 of 2 approved")).to_be_visible()
    assert states(site, change) == [State.APPROVED, State.AWAITING_REVIEW, State.APPROVED]


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_screen(visit, change, width):
    page = visit("/changes/c-1", viewport={"width": width, "height": 800})
    expect(page.get_by_role("button", name="Approve the selected")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_second_question_has_no_violation_of_accessibility(visit, change):
    page = visit("/changes/c-1")
    page.get_by_label("Select root-3 in prod").check()
    page.get_by_role("button", name="Approve the selected").click()
    expect(page.get_by_role("heading", name="Approve what is destroyed?")).to_be_visible()
    assert Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag22aa"]}).response["violations"] == []
