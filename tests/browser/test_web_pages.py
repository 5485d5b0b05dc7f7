"""The product's own pages in a real browser: a log that is followed, hostile output, a review without scripts."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from tests.api.calls import failed_cluster
from tests.browser.site import CHROMIUM
from tests.builders import (
    PLAN_TEXT,
    REPOSITORY,
    amended,
    any_deployment,
    any_job,
    any_lock,
    any_queue,
    any_root,
    deployment_in,
)
from tidegate.changes.rules.waits import Waits
from tidegate.changes.rules.wave import WaveFailure, WaveRules
from tidegate.deploys.rules.state import State
from tidegate.insights.count import count_deployment

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="Debian's package chromium is not installed"),
]
HOSTILE = (
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 2'>",
    "</span></div><svg onload=window.hit=3>",
    "&lt;script&gt;window.hit = 4&lt;/script&gt; &#60;b&#62;",
    "\x1b]8;;javascript:window.hit=5\x07a link\x1b]8;;\x07",
    "\x1b]0;a title\x07\x1b[2J\x1b[1;31mred \x1b[38;5;2mgreen\x1b[0m\x1b[999;999Hend",
    "right \u202eto left\u202c \u2066isolated\u2069 \u200bhidden",
    "{{ 7 * 7 }} ${window.hit = 6} <%= 1 %>",
    "over\rwritten",
    'a" onmouseover="window.hit=7" x="',
    "\x00\x07\x08\x7f bell",
)


def texts(page):
    return page.locator(".l .t").all_text_contents()


#: Records notifications that the browser has shown. A headless browser has no background: it is said here.
SHOWN_NOTIFICATIONS = """
  window.shown = [];
  Object.defineProperty(document, "hidden", { get: () => BACKGROUND });
  window.Notification = class extends Notification {
    constructor(title, options) { super(title, options); this.addEventListener("show", () => shown.push(title)); }
  };
"""


@pytest.mark.parametrize("live", [False, True], ids=["rendered by the server", "drawn by the script"])
def test_nothing_in_a_log_runs_in_the_page(site, visit, live):
    job = site.planning()
    if live:
        page = visit(f"/jobs/{job}")
        expect(page.get_by_text("No lines yet.")).to_be_visible()
        site.write(job, 0, *HOSTILE)
    else:
        site.write(job, 0, *HOSTILE)
        page = visit(f"/jobs/{job}")
    expect(page.locator(".l")).to_have_count(len(HOSTILE))
    shown = texts(page)
    assert shown[:4] == list(HOSTILE[:4])
    assert shown[4:] == [
        "a link",
        "red greenend",
        "right to left isolated hidden",
        HOSTILE[7],
        "written",
        HOSTILE[9],
        " bell",
    ]
    assert page.evaluate("window.hit") is None
    assert page.locator("#log script, #log img, #log svg, #log b").count() == 0
    assert page.locator("#log a:not(.n)").count() == 0
    assert page.locator(".l:nth-child(6) .bold.fg1").first.text_content() == "red "
    assert page.title() != "a title"


def test_a_script_that_got_into_a_page_all_the_same_would_not_run(site, visit):
    job = site.planning()
    site.write(job, 0, "a line")
    page = visit(f"/jobs/{job}")
    ran = page.evaluate(
        """() => {
            document.addEventListener("securitypolicyviolation", (event) => {
                window.refused = event.effectiveDirective;
            });
            const script = document.createElement("script");
            script.textContent = "window.hit = 1";
            document.body.append(script);
            return new Promise((done) => setTimeout(() => done([window.hit, window.refused]), 50));
        }"""
    )
    assert ran == [None, "script-src-elem"]
    assert "Content Security Policy" in visit.problems.pop()


def test_new_lines_appear_within_a_second_of_being_written(site, visit):
    job = site.planning()
    site.write(job, 0, "the first")
    page = visit(f"/jobs/{job}")
    page.evaluate(
        """() => {
            window.seen = {};
            new MutationObserver((changes) => changes.forEach((change) => change.addedNodes.forEach((node) => {
                for (const line of node.querySelectorAll?.(".t") ?? []) window.seen[line.textContent] ??= Date.now();
            }))).observe(document.getElementById("log"), {childList: true, subtree: true});
        }"""
    )
    written = {}
    for number in range(1, 41):
        written[f"line {number}"] = time.time() * 1000
        site.write(job, number, f"line {number}")
        page.wait_for_timeout(37 + 13 * (number % 5))
    expect(page.locator(".l")).to_have_count(41)
    seen = page.evaluate("window.seen")
    waits = sorted(seen[line] - at for line, at in written.items())
    assert waits[len(waits) // 2] < 1000, waits  # Most of them: a busy machine holds some up.


def test_a_log_is_followed_from_before_its_job_starts_to_its_end(site, visit):
    one = site.wires.deployed(deployment_in(State.PLANNING))
    job = f"{one.id}-plan-1"
    site.wires.jobs.create(any_job(id=job, deployment=one.id))
    page = visit(f"/jobs/{job}")
    status = page.locator("#status")
    expect(status).to_have_text("Waiting for a runner")
    site.wires.jobs.hand_over(job, "token", "clone")
    site.wires.jobs.take(job, "runner")
    site.write(job, 0, "one")
    expect(status).to_have_text("Running")
    site.end(job, "one", "two")
    expect(status).to_have_text("Ended")
    assert texts(page) == ["one", "two"]
    expect(page.get_by_label("Follow")).to_be_hidden()


def test_lines_are_searched_linked_and_wrapped(site, visit):
    job = site.planning()
    lines = [f"line {number}" if number % 1000 else f"needle {number}" for number in range(1, 5001)]
    site.end(job, *lines)
    page = visit(f"/jobs/{job}#L4321")
    expect(page.locator("#L4321")).to_be_in_viewport()
    assert "here" in page.locator("#L4321").get_attribute("class")
    page.get_by_label("Search", exact=True).fill("needle")
    expect(page.locator("#matches")).to_have_text("5 lines")
    page.get_by_label("Search", exact=True).press("Enter")
    expect(page.locator("#L1000")).to_be_in_viewport()
    expect(page.locator("#matches")).to_have_text("1 of 5")
    page.get_by_label("Wrap").check()
    assert "wrapped" in page.locator("#log").get_attribute("class")
    with page.expect_download() as download:
        page.get_by_role("link", name="Raw").click()
    assert download.value.suggested_filename == f"{job}.txt"


def test_a_huge_log_is_loaded_as_far_as_somebody_reads(site, visit):
    job = site.planning()
    site.end(job, *(f"line {number}" for number in range(1, 13_001)))
    page = visit(f"/jobs/{job}")
    more = page.get_by_role("button", name="Load more")
    expect(more).to_be_visible(timeout=90_000)
    before = page.locator(".l").count()
    assert before < 13_000
    more.click()
    page.locator(".l").nth(before).wait_for(state="attached")


def test_without_scripts_a_plan_is_reviewed_a_queue_unlocked_and_a_log_read(site, visit):
    one = site.wires.deployed(deployment_in(State.AWAITING_REVIEW))
    site.wires.artifacts.put(one.planned.plan.text.key, PLAN_TEXT)
    page = visit(f"/deployments/{one.id}", java_script_enabled=False)
    expect(page.get_by_text("+ resource")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_have_text("Your approval is recorded.")
    head, _ = site.wires.queues.read(any_queue())
    site.wires.queues.commit(head, replace(head, lock=any_lock()))
    page.goto(f"{site.url}/queue?repository={REPOSITORY}&root=network")
    page.get_by_role("button", name="Unlock").click()
    expect(page.get_by_role("status")).to_have_text("The queue is unlocked.")
    second = site.wires.deployed(deployment_in(State.PLANNING, 2))
    job = f"{second.id}-plan-1"
    site.wires.jobs.create(any_job(id=job, deployment=second.id))
    site.write(job, 0, "a line")
    page.goto(f"{site.url}/jobs/{job}")
    expect(page.get_by_text("a line")).to_be_visible()
    expect(page.get_by_role("link", name="Reload")).to_be_visible()
    expect(page.get_by_label("Search", exact=True)).to_be_hidden()


def test_a_page_that_is_open_shows_what_happens_and_keeps_what_was_unfolded(site, visit):
    one = site.wires.deployed(any_deployment())
    page = visit(f"/deployments/{one.id}")
    expect(page.get_by_text("Queued").first).to_be_visible()
    waiting = replace(deployment_in(State.AWAITING_REVIEW), version=site.wires.deployments.get(one.id).version)
    site.wires.artifacts.put(waiting.planned.plan.text.key, PLAN_TEXT)
    saved = site.wires.deployments.save(replace(waiting, id=one.id))
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.get_by_text("Show the plan").click()
    expect(page.get_by_text("+ resource")).to_be_hidden()
    site.wires.deployments.save(replace(saved, reason="Something new."))
    expect(page.get_by_text("Something new.")).to_be_visible()
    expect(page.get_by_text("+ resource")).to_be_hidden()


def test_the_title_of_an_open_page_follows_the_state_and_is_read_out(site, visit):
    one = site.wires.deployed(any_deployment())
    page = visit(f"/deployments/{one.id}")
    expect(page).to_have_title(re.compile("Queued"))
    site.wires.deployments.save(one.moved(State.PLANNING, one.request.at))
    expect(page).to_have_title(re.compile("Planning"))
    expect(page.locator("p.hidden[role=status]")).to_have_text(re.compile("Planning"))


@pytest.mark.parametrize("background", [True, False], ids=["in the background", "in sight"])
def test_a_new_state_is_notified_by_the_browser_while_the_page_is_in_the_background(site, visit, background):
    one = site.wires.deployed(any_deployment())
    page = visit(f"/deployments/{one.id}", permissions=["notifications"])
    page.add_init_script(SHOWN_NOTIFICATIONS.replace("BACKGROUND", str(background).lower()))
    page.reload()
    expect(page.get_by_role("button", name="Notify me")).to_have_count(0)
    site.wires.deployments.save(one.moved(State.PLANNING, one.request.at))
    expect(page).to_have_title(re.compile("Planning"))
    if background:
        page.wait_for_function("shown.length > 0")
    assert page.evaluate("shown") == [page.title()] * background


def test_a_page_whose_updates_fail_says_so_until_they_work_again(site, visit):
    one = site.wires.deployed(any_deployment())
    page = visit(f"/deployments/{one.id}")
    page.route(f"**/deployments/{one.id}", lambda route: route.fulfill(status=503))
    expect(page.locator(".stale")).to_be_visible()
    page.unroute(f"**/deployments/{one.id}")
    expect(page.locator(".stale")).to_be_hidden()
    assert all("503" in problem for problem in visit.problems)
    visit.problems.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_charts_fit_their_screen_and_have_tables_without_scripts(site, visit, width, scheme):
    for number, state in enumerate((State.APPLIED, State.APPLY_FAILED), 1):
        count_deployment(site.wires.ports, site.wires.deployed(deployment_in(state, number)))
    screen = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "java_script_enabled": False}
    page = visit("/insights", **screen)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    chart = page.get_by_role("region", name="Deployments", exact=True)
    colours = {chart.locator(f"rect.{look}").evaluate("one => getComputedStyle(one).fill") for look in ("good", "bad")}
    assert len(colours) == 2
    chart.get_by_text("Table").click()
    expect(chart.get_by_role("row").last).to_have_text(re.compile(r"2 Mar\s*1\s*1"))


@pytest.mark.parametrize("width", [360, 1200])
def test_pages_fit_their_screen(site, visit, width):
    one = site.wires.deployed(deployment_in(State.AWAITING_REVIEW))
    site.wires.artifacts.put(one.planned.plan.text.key, PLAN_TEXT)
    for path in (
        "/",
        "/search?q=network",
        "/deployments",
        f"/repositories/{REPOSITORY}",
        f"/queue?repository={REPOSITORY}&root=network",
        f"/deployments/{one.id}",
    ):
        page = visit(path, viewport={"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


def test_the_menu_of_a_small_screen_shows_the_page_that_is_open(visit):
    page = visit("/insights", viewport={"width": 390, "height": 800})
    expect(page.locator(".menu [aria-current]")).to_be_in_viewport(ratio=1)


def a_change(site):
    """Store a change of four stacks, one after the other."""
    names = ("dev", "staging", "prod", "reports")
    return site.wires.changed(
        *(
            amended(
                deployment_in(State.GATED if number else State.APPLIED, number + 1),
                stack=name,
                waits=Waits(apply_after=names[:number]),
            )
            for number, name in enumerate(names)
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_of_a_change_scrolls_on_a_small_screen_and_leads_to_its_groups(site, visit, scheme):
    a_change(site)
    page = visit("/changes/c-1", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    picture = page.locator(".picture")
    assert picture.evaluate("one => one.scrollWidth > one.clientWidth")
    prod = page.get_by_role("link", name="prod: Waiting for others")
    prod.scroll_into_view_if_needed()
    prod.click()
    expect(page.locator("#stack-3")).to_be_in_viewport()
    colours = page.locator(".graph .good rect").evaluate(
        "one => [getComputedStyle(one).fill, getComputedStyle(one).stroke]"
    )
    assert len({*colours, "none", "rgb(0, 0, 0)"}) == 4


def test_a_picture_stays_scrolled_while_the_page_keeps_itself_up_to_date(site, visit):
    made = a_change(site)
    page = visit("/changes/c-1", viewport={"width": 360, "height": 740})
    page.locator(".picture").evaluate("one => { one.scrollLeft = 200; }")
    site.wires.deployments.save(made[1].moved(State.AWAITING_REVIEW, made[1].changed_at))
    expect(page.locator("#stack-2")).to_contain_text("Waiting for review")
    assert page.locator(".picture").evaluate("one => one.scrollLeft") == 200


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_picture_of_a_workflow_fits_its_screen_and_leads_to_its_tasks(site, visit, width, scheme):
    failed_cluster(site.wires)
    page = visit(f"/clusters/{REPOSITORY}/fleet", viewport={"width": width, "height": 740}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".picture").evaluate("one => one.scrollWidth <= one.clientWidth")
    page.get_by_role("link", name="delete-backup: Not reached").click()
    expect(page.locator("#task-delete-backup")).to_be_in_viewport()
    colours = {
        page.locator(f".graph .{tone} rect").first.evaluate("one => getComputedStyle(one).fill")
        for tone in ("good", "bad", "quiet")
    }
    assert len(colours) == 3


def test_without_scripts_a_failed_workflow_is_given_up(site, visit):
    cluster = failed_cluster(site.wires)
    page = visit(f"/clusters/{REPOSITORY}/fleet", java_script_enabled=False)
    page.get_by_text("Give up the workflow").click()
    page.get_by_label("Reason").fill("It is hopeless.")
    page.get_by_label("I understand").check()
    page.get_by_role("button", name="Release").click()
    expect(page.get_by_role("status")).to_contain_text("is being given back")
    assert cluster.record.run.gives_up


@pytest.mark.parametrize("width", [390, 1280])
def test_without_scripts_a_stack_is_stopped_after_its_first_failure(site, visit, width):
    states, wave = (State.APPLIED, State.APPLY_FAILED, State.GATED), WaveRules(stop_on_failures=1)
    named = [
        amended(deployment_in(state, number), root=any_root(name=f"root-{number}"), stack="prod", wave=wave)
        for number, state in enumerate(states, 1)
    ]
    _, failed, _ = site.wires.changed(*named)
    known = site.wires.change_sets.wave("c-1", "prod")
    site.wires.change_sets.save_wave(replace(known, failed=(WaveFailure("root-2", failed.id),)))
    page = visit("/changes/c-1", java_script_enabled=False, viewport={"width": width, "height": 740})
    expect(page.get_by_text("1 of 3 done, 1 waiting, 1 failed")).to_be_visible()
    expect(page.get_by_text("This stack does not continue")).to_be_visible()
    page.get_by_text("Stop this stack").click()
    page.get_by_label("I understand").check()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("reviewer stopped this stack")).to_be_visible()
    expect(page.get_by_text("Stop this stack")).to_have_count(0)


def test_the_last_lines_are_shown_from_their_end(site, visit):
    lines = "\n".join(f"line {number}" for number in range(200))
    one = site.wires.deployed(amended(deployment_in(State.PLAN_FAILED), last_lines=lines))
    box = visit(f"/deployments/{one.id}").locator(".ends")
    bottom = box.evaluate(
        "one => one.getBoundingClientRect().bottom - one.firstElementChild.getBoundingClientRect().bottom"
    )
    assert 0 <= bottom < 40


def test_a_query_is_typed_into_the_box_of_the_list(site, visit):
    a_change(site)
    page = visit(f"/repositories/{REPOSITORY}/deployments")
    page.get_by_role("searchbox", name="Tag query").fill("stack_name:dev")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("key", ["/", "Control+k"])
def test_a_key_leads_to_the_search_over_everything(site, visit, key):
    one = site.wires.deployed(deployment_in(State.AWAITING_REVIEW))
    page = visit("/")
    page.keyboard.press(key)
    expect(page.get_by_role("searchbox", name="Search everything")).to_be_focused()
    page.keyboard.type(f"{one.id}/")
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    page.get_by_role("link", name=one.root.name).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(one.root.name)


@pytest.mark.parametrize("scripts", [False, True], ids=["without scripts", "with scripts"])
def test_from_the_inbox_a_plan_is_reached_and_the_search_is_a_form(site, visit, scripts):
    one = site.wires.deployed(deployment_in(State.AWAITING_REVIEW))
    page = visit("/", java_script_enabled=scripts)
    needs = page.get_by_role("region", name="Needs you")
    needs.get_by_role("link").first.click()
    expect(page).to_have_url(f"{site.url}/deployments/{one.id}")
    page.get_by_role("navigation", name="Tidegate").get_by_role("link", name="Inbox").click()
    expect(page.get_by_role("link", name="Inbox", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("searchbox", name="Search everything").fill("nothing of this name")
    page.get_by_role("searchbox", name="Search everything").press("Enter")
    expect(page.get_by_role("heading", name="No results")).to_be_visible()


def test_the_log_in_the_page_of_a_deployment_grows_and_what_is_unfolded_stays_so(site, visit):
    job = site.planning()
    one = site.wires.deployments.get(job.removesuffix("-plan-1"))
    site.wires.deployments.save(replace(one, planned=replace(one.planned, job=job)))
    site.write(job, 0, "tidegate: cloning", "aws_vpc.main: Refreshing state...")
    page = visit(f"/deployments/{one.id}")
    page.get_by_text("Preparation, 1 line").click()
    site.write(job, 2, "aws_vpc.main: Still reading...")
    expect(page.get_by_text("Still reading...")).to_be_visible()
    expect(page.get_by_text("tidegate: cloning")).to_be_visible()
