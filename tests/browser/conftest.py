"""A browser, and the product's own pages in it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.site import CHROMIUM, FLAGS, Site

#: Milliseconds that a page has for what it is expected to show: for a machine that is not idle.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=3 * PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def site():
    site = Site()
    yield site
    site.close()


@pytest.fixture
def visit(chromium, site):
    """Open pages; nothing may be complained of in the browser's console."""
    contexts, problems = [], []

    def opened(path, **options):
        context = chromium.new_context(**options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        context.add_cookies([site.cookie()])
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.goto(f"{site.url}{path}")
        return page

    opened.problems = problems
    yield opened
    for context in contexts:
        context.close()
    assert problems == []
