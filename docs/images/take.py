"""Takes the documents' pictures from a local cloud that is filled with the sample: ``make pictures``."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tidegate_local.client import LocalCloud
from tidegate_local.forge.client import ForgeClient
from tidegate_local.sample.files import PLATFORM
from tidegate_local.sample.organization import Organization

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SECONDS, POLL = 300.0, 0.5
WIDTH = 1120
#: Merges that wait in the queue behind the review.
MORE = 3
WAITING = "staging/shop"
REFUSED, ENLARGED = "Let the office reach the database", "enlarge the database of staging"


class PictureFailed(Exception):
    """What a picture shows did not appear in time. The message says what."""


def main() -> None:
    """Fill a local cloud, sign in as the reviewer, and take each picture."""
    with LocalCloud() as cloud, sync_playwright() as playwright:
        Organization(cloud, print).fill()
        forge = ForgeClient(cloud.info["forge_url"])
        for number in range(MORE):
            tags = {f"{WAITING}/tags.tf": f"# Tag {number}\n"}
            forge.push(PLATFORM, tags, f"Tag the shop of staging ({number + 1})")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": WIDTH, "height": 760})
        context.add_cookies([{"name": "forge_user", "value": "reviewer", "url": forge.url}])
        _Camera(context.new_page(), cloud.info["api_url"], forge).take_all()
        browser.close()


class _Camera:
    """A browser of the reviewer, who is signed in at the forge; ``url`` is Tidegate's."""

    def __init__(self, page: Page, url: str, forge: ForgeClient) -> None:
        self._page, self._url, self._forge = page, url, forge

    def take_all(self) -> None:
        page = self._page
        page.goto(self._url)
        page.get_by_role("button", name=re.compile("Authorize")).click()
        page.wait_for_url(f"{self._url}/")
        queue = f"/queue?repository={PLATFORM}&root={WAITING}"
        self._until(queue, lambda: page.locator("ol.line li").count() == MORE)
        self._take("queue.png", queue, 760)
        self._take("inbox.png", "/", 900)
        self._take("repository.png", f"/repositories/{PLATFORM}", 1100)
        self._take("insights.png", f"/insights?repository={PLATFORM}", 1060)
        self._take("setup.png", "/setup", 620)
        self._deployment(queue)
        self._pull_request()
        self._plan()

    def _deployment(self, queue: str) -> None:
        """Take the plan that waits for its review: its page, its rows, its change, and the check run."""
        page = self._page
        page.goto(f"{self._url}{queue}")
        page.locator(".card a").first.click()
        page.get_by_role("region", name="Plan").wait_for()
        check_run = str(page.locator("a[href*='/runs/']").first.get_attribute("href"))
        self._take("deployment.png", page.url.removeprefix(self._url), 900)
        page.get_by_role("link", name="this change", exact=True).first.click()
        page.get_by_label("Diagram of the stacks").wait_for()
        self._take("change.png", page.url.removeprefix(self._url), 760)
        page.goto(check_run)
        folded = page.locator("details summary", has_text="Plan")
        if folded.count():  # A short plan stands there unfolded.
            folded.first.click()
        page.screenshot(path=HERE / "check-run.png", full_page=True)

    def _pull_request(self) -> None:
        """Take the pull request that a policy refuses: Tidegate's page, and its comment."""
        page = self._page
        page.goto(f"{self._url}/pulls?repository={PLATFORM}")
        page.get_by_role("link", name=re.compile(REFUSED)).first.click()
        page.get_by_role("heading", name=re.compile(REFUSED)).wait_for()
        self._take("pull-request.png", page.url.removeprefix(self._url), 900)
        number = page.url.rpartition("/")[2]
        page.goto(f"{self._forge.url}/{PLATFORM}/pull/{number}")
        page.locator("section.comment", has_text="Tidegate").last.screenshot(path=HERE / "comment.png")

    def _plan(self) -> None:
        """Take the rows of a pull request's plan that replaces something, the first two opened."""
        page = self._page
        page.goto(f"{self._url}/pulls?repository={PLATFORM}")
        page.get_by_role("link", name=re.compile(ENLARGED)).first.click()
        page.locator("tr", has_text="staging/database").locator("a[href$='/plan']").click()
        rows = page.locator("details.resource")
        for number in range(2):
            rows.nth(number).locator("summary").click()
        page.set_viewport_size({"width": WIDTH, "height": 980})
        page.screenshot(path=HERE / "plan.png")

    def _take(self, name: str, path: str, height: int) -> None:
        self._page.set_viewport_size({"width": WIDTH, "height": height})
        self._page.goto(f"{self._url}{path}")
        self._page.screenshot(path=HERE / name)

    def _until(self, path: str, is_there: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self._page.goto(f"{self._url}{path}")
            if is_there():
                return
            time.sleep(POLL)
        raise PictureFailed(f"{path} did not show what the picture is of.")


if __name__ == "__main__":
    main()
