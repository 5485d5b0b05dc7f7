"""The pages of pull requests in a real browser: on small and on large screens, while they are planned and after."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.browser.site import CHROMIUM
from tests.builders import NOW, REPOSITORY, any_job, any_layer, any_plan, any_pull_request, any_pull_request_record
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.policies.rules.policy import PolicyFinding, PolicyVerdict, Severity
from tidegate.ports import LogChunk
from tidegate.pull_requests.rules.record import judged

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]
PAGE = f"/pulls/{REPOSITORY}/5"
MESSAGE = "Port 22 would be open to everybody: name the network that may come in"
DENIED = PolicyFinding(Severity.DENY, "main.deny", MESSAGE, "aws_vpc_security_group_ingress_rule.ssh")
WARNED = PolicyFinding(Severity.WARN, "main.warn", "A queue without an alarm is noticed by nobody", "aws_sqs_queue.b")
VERDICTS = (PolicyVerdict("network", (DENIED,)), PolicyVerdict("alarms", (WARNED,)), PolicyVerdict("costs"))
REASON = "The engine refused the configuration of this root: a resource that it refers to is declared nowhere."
CHANGES = PlannedChanges(add=12, change=3, destroy=1, replace=2, destroyed=("aws_sqs_queue.old",))


def layers():
    """Return a layer in each state, with names as long as people make them."""
    plan = any_plan(changes=CHANGES)
    why = "It uses modules/platform/network, which uses modules/platform/addresses, which changes."
    made = (
        any_layer("live/production/eu-central-1/network", state=LayerState.PLANNED, plan=plan, verdicts=VERDICTS),
        any_layer("live/production/eu-central-1/orders", state=LayerState.FAILED, reason=REASON, last_lines="Error: x"),
        any_layer("live/staging/orders", state=LayerState.NO_CHANGES, plan=any_plan(changes=PlannedChanges())),
        any_layer("live/staging/reports", state=LayerState.REFUSED, reason="A provider is refused.\nSo is a module."),
    )
    return tuple(replace(each, job=f"{each.id}-speculate-1", why=why, tier=place) for place, each in enumerate(made, 1))


def stored(site, found, title="Allow SSH", **fields):
    """Store a pull request with these layers; return its record."""
    site.wires.speculative_plans.create(found)
    for each in found:
        site.wires.jobs.create(any_job(JobKind.SPECULATE, id=each.job, deployment=each.id))
        site.wires.job_logs.append(each.job, LogChunk(0, (f"The log of {each.root.name}",)))
    spec = any_pull_request(title=title)
    revision = spec.revision
    record = any_pull_request_record(spec=spec, discovered=revision, layers=tuple(each.id for each in found), **fields)
    return site.wires.pull_requests.save(judged(record, found, NOW))


@pytest.fixture
def ended(site):
    """A pull request of which all is shown."""
    return stored(site, layers(), commented=any_pull_request().revision)


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("path", [PAGE, "/pulls", f"/pulls?repository={REPOSITORY}"])
def test_the_pages_fit_their_screen(visit, ended, path, width):
    page = visit(path, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()


def test_a_long_title_of_one_word_fits_a_small_screen(site, visit):
    stored(site, layers(), title="a" * 200 + "b", commented=any_pull_request().revision)
    for path in (PAGE, "/pulls"):
        page = visit(path, viewport={"width": 360, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [360, 1200])
def test_every_state_is_told_in_words_before_anything_is_scrolled(visit, ended, width):
    page = visit(PAGE, viewport={"width": width, "height": 800})
    states = page.get_by_role("region", name="Roots").locator("tbody .state")
    assert states.all_inner_texts() == ["Planned", "Plan failed", "No changes", "Refused"]
    for state in states.all():
        box = state.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width
        colours = state.evaluate("one => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]")
        assert len(set(colours)) == 2
    expect(
        page.get_by_text(
            "1 failed, 1 refused, 1 with changes (12 to add, 3 to change, 1 to destroy, 2 to replace), 1 unchanged"
        )
    ).to_be_visible()


def test_why_there_is_no_plan_and_what_policies_say_is_read_on_the_page(visit, ended):
    page = visit(PAGE, viewport={"width": 360, "height": 800})
    page.get_by_role("link", name="see why").first.click()
    failure = page.locator("section.card").first
    expect(failure).to_be_in_viewport()
    expect(failure).to_contain_text(REASON)
    expect(failure.get_by_text("Error: x")).to_be_hidden()
    failure.locator("summary").click()
    expect(failure.get_by_text("Error: x")).to_be_visible()
    said = page.locator(".findings li")
    expect(said).to_have_count(2)
    expect(said.first).to_contain_text(MESSAGE)
    expect(said.first).to_contain_text("aws_vpc_security_group_ingress_rule.ssh")


def test_the_links_of_the_pages_lead_somewhere(visit, ended, site):
    page = visit("/pulls")
    page.get_by_role("link", name="#5 Allow SSH").click()
    expect(page).to_have_url(f"{site.url}{PAGE}")
    forge = page.get_by_role("link", name="pull request", exact=True).get_attribute("href")
    assert forge.endswith(f"/{REPOSITORY}/pull/5")
    page.get_by_role("link", name="Plan failed").click()
    expect(page.get_by_text("The log of live/production/eu-central-1/orders")).to_be_visible()
    page.get_by_role("link", name="#5").first.click()
    expect(page).to_have_url(f"{site.url}{PAGE}")
    page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Pull requests").click()
    expect(page.get_by_role("heading", name="Open pull requests")).to_be_visible()


def test_a_page_that_is_open_follows_the_plans(site, visit):
    begun = tuple(replace(each, state=LayerState.PLANNING, plan=None, verdicts=(), reason="") for each in layers())
    stored(site, begun)
    page = visit(PAGE)
    expect(page.get_by_text("0 of 4 planned")).to_be_visible()
    first = site.wires.speculative_plans.get(begun[0].id)
    site.wires.speculative_plans.save(replace(first, state=LayerState.PLANNED, plan=any_plan(changes=CHANGES)))
    expect(page.get_by_text("1 of 4 planned")).to_be_visible()
    expect(page.get_by_text("12 to add")).to_be_visible()
