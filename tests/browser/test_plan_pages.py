"""Plans as rows in a real browser: filtered at once, opened, linked to; on small and large screens, without scripts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.api.plans import HOSTILE, many, planned, pull
from tests.browser.site import CHROMIUM
from tests.builders import REPOSITORY

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]


def shown(page):
    return page.locator("details.resource:not([hidden]) > summary > code").all_inner_texts()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_plan_fits_its_screen_also_with_all_attributes(site, visit, width, scheme):
    one = planned(site.wires)
    page = visit(f"/deployments/{one.id}", viewport={"width": width, "height": 800}, color_scheme=scheme)
    page.get_by_role("link", name="Expand all").click()
    expect(page.get_by_text("forces replacement").last).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_rows_are_filtered_at_once_by_chips_and_addresses(site, visit):
    page = visit(f"/jobs/{planned(site.wires).planned.plan.job}/plan")
    page.get_by_role("link", name="2 to replace", exact=True).click()
    assert shown(page) == ["aws_security_group.web", "module.queue.terraform_data.queue"]
    page.get_by_role("searchbox", name="Filter by address").fill("Module.")
    assert shown(page) == ["module.queue.terraform_data.queue"]
    expect(page.get_by_role("status")).to_have_text("1 of 15 rows")
    page.get_by_role("link", name="All 15").click()
    page.get_by_role("searchbox", name="Filter by address").fill("")
    assert len(shown(page)) == 15
    assert page.url.endswith("/plan")


def test_a_row_of_a_large_plan_fetches_its_attributes_when_it_is_opened(site, visit):
    page = visit(f"/jobs/{planned(site.wires, many(200)).planned.plan.job}/plan")
    row = page.locator("details.resource").first
    expect(row.locator(".attribute")).to_have_count(0)
    row.locator("summary").click()
    expect(row.locator(".attribute")).to_have_text(["\N{MINUS SIGN}removed name 0"])


def test_a_link_to_a_row_opens_it(site, visit):
    page = visit(f"/jobs/{planned(site.wires).planned.plan.job}/plan#terraform_data.each[%22new%22]")
    expect(page.locator("details.resource[open] > summary > code")).to_have_text('terraform_data.each["new"]')


def test_plans_of_many_roots_open_on_the_page_of_their_pull_request(site, visit):
    pull(site.wires, 4)
    page = visit(f"/pulls/{REPOSITORY}/5")
    page.locator("details.folded > summary").first.click()
    expect(page.get_by_text("aws_security_group.web").first).to_be_visible()
    page.get_by_role("link", name="2 to replace", exact=True).click()
    assert len(shown(page)) == 2


def test_without_scripts_rows_are_filtered_and_opened_by_links(site, visit):
    page = visit(f"/deployments/{planned(site.wires, many(200)).id}", java_script_enabled=False)
    page.get_by_role("link", name="100 to destroy").click()
    assert len(shown(page)) == 100
    page.get_by_role("searchbox", name="Filter by address").fill("q42")
    page.get_by_role("button", name="Filter").click()
    assert shown(page) == ["module.m0.aws_sqs_queue.q42"]
    page.get_by_text("module.m0.aws_sqs_queue.q42").first.click()
    expect(page.locator(".attribute")).to_be_visible()
    page.get_by_role("link", name="Link to this row").click()
    expect(page.locator("details.resource[open] .attribute")).to_be_visible()


def test_hostile_names_and_values_run_nothing(site, visit):
    change = {"actions": ["create"], "before": None, "after": {HOSTILE: HOSTILE, "more": [{"x": HOSTILE}] * 2}}
    resources = [{"address": f"a.b{number}{HOSTILE}", "change": change} for number in range(150)]
    document = {"format_version": "1.2", "resource_changes": resources}
    page = visit(f"/jobs/{planned(site.wires, document).planned.plan.job}/plan")
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    page.locator("details.resource summary").first.click()
    expect(page.locator("details.resource .attribute").first).to_contain_text("<script>")
