"""Takes the documents' pictures from a running local cloud: ``make pictures``."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tidegate.insights.adapters.days import DynamoInsights
from tidegate.insights.rules.day import Day, DriftSeen, with_drift, with_ended
from tidegate.insights.rules.ended import Ended, Result
from tidegate_local.client import LocalCloud
from tidegate_local.demo import deploys, pull_request
from tidegate_local.demo.stage import POLL, REPOSITORY, SAMPLE, DemoFailed
from tidegate_local.forge.client import ForgeClient

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SECONDS = 300.0
#: Merges after the first: they wait in the queue behind it.
MORE = 3
#: The stacks of another repository, each of which waits for the one before.
STAGES_REPOSITORY = "demo/stages"
STAGES = ("dev", "staging", "prod")
STACKS = """\
dirs:
  dev/network: {tags: [development]}
  staging/network: {tags: [staged]}
  prod/network: {tags: [production]}
stacks:
  names:
    dev: {tag_query: development}
    staging: {tag_query: staged, rules: {apply_after: [dev]}}
    prod: {tag_query: production, rules: {apply_after: [staging]}}
"""


def main() -> None:
    """Merge the sample, wait until both plans wait for review, take the pictures."""
    with LocalCloud() as cloud, sync_playwright() as playwright:
        forge = ForgeClient(cloud.info["forge_url"])
        sha = deploys.merge_the_sample(forge)
        run = _waiting(forge, sha)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        _take(browser, f"{forge.url}/{REPOSITORY}/runs/{run}", "check-run.png", unfold=True)
        _take(browser, f"{forge.url}/{REPOSITORY}/commit/{sha}", "commit.png")
        for number in range(MORE):
            tag = f"# Tag {number}\n"
            forge.push(REPOSITORY, {f"{deploys.ROOTS[1]}/tags.tf": tag}, f"Tag the orders ({number + 1})")
        _fill_insights(cloud)
        _take_pages(browser, cloud.info["api_url"], forge)
        _take_pull_request(browser, cloud.info["api_url"], forge, sha)
        browser.close()


def _waiting(forge: ForgeClient, sha: str) -> int:
    """Return the check run of the sample's second root, once both wait for review."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        runs = [run for run in forge.check_runs(REPOSITORY, sha) if run["conclusion"] == "action_required"]
        if len(runs) == len(deploys.ROOTS):
            return max(int(run["id"]) for run in runs if run["name"].endswith(deploys.ROOTS[1]))
        time.sleep(POLL)
    raise DemoFailed("The plans did not come up for review.")


def _take(browser: Browser, url: str, name: str, *, unfold: bool = False) -> None:
    context = browser.new_context(viewport={"width": 1120, "height": 860})
    context.add_cookies([{"name": "forge_user", "value": "reviewer", "url": url.partition("/demo")[0]}])
    page = context.new_page()
    page.goto(url)
    folded = page.locator("details summary", has_text="Plan")
    if unfold and folded.count():  # A short plan stands there unfolded.
        folded.click()
    page.screenshot(path=HERE / name, full_page=unfold)
    context.close()


def _take_pages(browser: Browser, url: str, forge: ForgeClient) -> None:
    """Sign in, and take Tidegate's own pages."""
    _merge_the_stages(forge)
    context = browser.new_context(viewport={"width": 1120, "height": 760})
    context.add_cookies([{"name": "forge_user", "value": "reviewer", "url": forge.url}])
    page = context.new_page()
    page.goto(url)
    page.get_by_role("button", name=re.compile("Authorize")).click()
    page.wait_for_url(f"{url}/")
    queue = f"{url}/queue?repository={REPOSITORY}&root={deploys.ROOTS[1]}"
    _until(page, queue, lambda: page.locator("ol.line li").count() == MORE)
    page.screenshot(path=HERE / "queue.png")
    page.locator(".card a").first.click()
    page.screenshot(path=HERE / "deployment.png")
    page.get_by_role("region", name="Plan").screenshot(path=HERE / "plan.png")
    page.get_by_role("link", name="Plan", exact=True).click()
    page.get_by_label("Search", exact=True).wait_for()
    page.set_viewport_size({"width": 1120, "height": 1160})
    page.screenshot(path=HERE / "log.png")
    _take_change(page, url)
    context.close()


def _merge_the_stages(forge: ForgeClient) -> None:
    """Push the same root to three stacks, all as one change."""
    root = (SAMPLE / "network" / "main.tf").read_text()
    files = {
        f"{stage}/network/main.tf": root.replace("sample/network", f"stages/{stage}").replace("10.20", f"10.{number}")
        for number, stage in enumerate(STAGES, 30)
    }
    forge.push(STAGES_REPOSITORY, {"README.md": "# Stages\n"}, "Begin")
    forge.push(STAGES_REPOSITORY, {**files, "tidegate.yaml": STACKS}, "Give each stage a network")


def _take_change(page: Page, url: str) -> None:
    """Approve the first stage, and take the change while the second one waits for its review; take the first page."""
    page.set_viewport_size({"width": 1120, "height": 620})
    deployments = f"{url}/repositories/{STAGES_REPOSITORY}/deployments"
    waiting = page.locator("tr", has_text="Waiting for review")
    _until(page, deployments, lambda: waiting.filter(has_text="dev/network").count() == 1)
    waiting.filter(has_text="dev/network").get_by_role("link").first.click()
    page.get_by_role("button", name="Approve").click()
    _until(page, deployments, lambda: waiting.filter(has_text="staging/network").count() == 1)
    page.get_by_role("link", name=re.compile("^Change ")).first.click()
    page.get_by_label("Diagram of the stacks").wait_for()
    page.screenshot(path=HERE / "change.png")
    page.goto(f"{url}/repositories/{STAGES_REPOSITORY}")
    page.screenshot(path=HERE / "repository.png")
    page.goto(url)
    page.screenshot(path=HERE / "inbox.png")
    page.goto(f"{url}/repositories")
    page.screenshot(path=HERE / "repositories.png")
    page.goto(f"{url}/setup")
    page.screenshot(path=HERE / "setup.png")
    page.set_viewport_size({"width": 1120, "height": 1060})
    page.goto(f"{url}/insights?repository={STAGES_REPOSITORY}")
    page.screenshot(path=HERE / "insights.png")


def _fill_insights(cloud: LocalCloud) -> None:
    """Store what a month of deployments would have been counted as: nobody waits for one here."""
    client = cloud.client("dynamodb")
    (table,) = client.list_tables()["TableNames"]
    chance = random.Random(7)  # noqa: S311  # The same picture each time.
    now = datetime.now(UTC)
    for age in range(1, 30):
        at = now - timedelta(days=age)
        day = Day(STAGES_REPOSITORY, f"{at:%Y-%m-%d}")
        for _ in range(chance.randint(0, 3) if at.weekday() in {5, 6} else chance.randint(3, 9)):
            day = with_ended(day, _deployed(chance, at))
        day = with_drift(day, "nightly", [DriftSeen("nightly", "prod", 1, (age % 6) * 86_400)])
        DynamoInsights(client, table).save(day)


def _deployed(chance: random.Random, at: datetime) -> Ended:
    """Return one deployment: later stages wait longer for their reviews."""
    place = chance.randrange(len(STAGES))
    review, run = chance.expovariate(1 / (900 * (place + 1))), 40 + chance.expovariate(1 / 90)
    queue = chance.expovariate(1 / 60)
    result = Result.FAILED if chance.random() < 0.08 else Result.APPLIED  # noqa: PLR2004
    lead = queue + review + run if result is Result.APPLIED else None
    root, team = f"{STAGES[place]}/network", ("sre", "web")[place % 2]
    return Ended(at, root, STAGES[place], team, result, lead, queue, review, run, round(run * 11))


def _take_pull_request(browser: Browser, url: str, forge: ForgeClient, sha: str) -> None:
    """Deploy the first root, let a policy refuse a change of it, and take the comment and Tidegate's page."""
    name = f"tidegate/deploy: {pull_request.ROOT}"
    run = _run(forge, sha, name, "action_required")
    ForgeClient(forge.url, "reviewer").click(REPOSITORY, run, "Approve")
    _run(forge, sha, name, "success")
    files = {pull_request.FILE: pull_request.RULE.format(network=pull_request.EVERYBODY)}
    head = forge.push(REPOSITORY, files, pull_request.TITLE, branch=pull_request.BRANCH, base="main")
    number = ForgeClient(forge.url, "developer").open_pull_request(
        REPOSITORY, pull_request.BRANCH, title=pull_request.TITLE
    )
    _run(forge, head, pull_request.POLICY, "failure")
    context = browser.new_context(viewport={"width": 1120, "height": 760})
    context.add_cookies([{"name": "forge_user", "value": "reviewer", "url": forge.url}])
    page = context.new_page()
    page.goto(f"{forge.url}/{REPOSITORY}/pull/{number}")
    page.locator("section.comment", has_text="Tidegate").last.screenshot(path=HERE / "comment.png")
    page.goto(f"{url}/pulls/{REPOSITORY}/{number}")
    page.get_by_role("button", name=re.compile("Authorize")).click()
    page.get_by_role("heading", name=pull_request.TITLE).wait_for()
    page.screenshot(path=HERE / "pull-request.png")
    context.close()


def _run(forge: ForgeClient, sha: str, name: str, conclusion: str) -> int:
    """Return a check run once it has ended so."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        for run in forge.check_runs(REPOSITORY, sha, name=name):
            if run["conclusion"] == conclusion:
                return int(run["id"])
        time.sleep(POLL)
    raise DemoFailed(f"{name} did not come to {conclusion}.")


def _until(page: Page, url: str, is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        page.goto(url)
        if is_there():
            return
        time.sleep(POLL)
    raise DemoFailed(f"{url} did not come to show what was waited for.")


if __name__ == "__main__":
    main()
