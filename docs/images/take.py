"""Takes the documents' pictures from a running local cloud: ``make pictures``."""

from __future__ import annotations

import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from local import demo
from local.client import LocalCloud
from local.forge.client import ForgeClient

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PATIENCE = 300.0


def main() -> None:
    """Merge the sample, wait until both plans wait for review, take the pictures."""
    with LocalCloud() as cloud, sync_playwright() as playwright:
        forge = ForgeClient(cloud.info["forge_url"])
        sha = demo.merge_the_sample(forge)
        run = _waiting(forge, sha)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        _take(browser, f"{forge.url}/{demo.REPOSITORY}/runs/{run}", "check-run.png", unfold=True)
        _take(browser, f"{forge.url}/{demo.REPOSITORY}/commit/{sha}", "commit.png")
        browser.close()


def _waiting(forge: ForgeClient, sha: str) -> int:
    """Return the check run of the sample's second root, once both wait for review."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        runs = [run for run in forge.check_runs(demo.REPOSITORY, sha) if run["conclusion"] == "action_required"]
        if len(runs) == len(demo.ROOTS):
            return max(int(run["id"]) for run in runs if run["name"].endswith(demo.ROOTS[1]))
        time.sleep(demo.POLL)
    raise demo.DemoFailed("The plans did not come up for review.")


def _take(browser: Browser, url: str, name: str, *, unfold: bool = False) -> None:
    context = browser.new_context(viewport={"width": 1120, "height": 860})
    context.add_cookies([{"name": "forge_user", "value": "reviewer", "url": url.partition("/demo")[0]}])
    page = context.new_page()
    page.goto(url)
    if unfold:
        page.locator("details summary", has_text="Plan").click()
    page.screenshot(path=HERE / name, full_page=unfold)
    context.close()


if __name__ == "__main__":
    main()
