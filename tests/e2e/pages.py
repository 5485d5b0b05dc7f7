"""The product's pages as a person uses them, and the command line as an operator runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from urllib.parse import urljoin

import httpx

#: An answer takes much less, unless the machine is busy.
SECONDS = 120


def hidden_fields(page, action):
    """Return where a page's form goes and what it carries."""
    forms = re.findall(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL)
    [(target, form)] = [one for one in forms if one[0].endswith(action)]
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return urljoin(str(page.url), unescape(target)), {name: unescape(value) for name, value in fields}


def click(browser, page, action, **fields):
    """Send a form as a browser does."""
    target, carried = hidden_fields(page, action)
    origin = str(page.url.copy_with(raw_path=b"")).rstrip("/")
    answer = browser.post(target, data={**carried, **fields}, headers={"Origin": origin})
    assert answer.status_code == 200, answer.text
    return answer


def sign_in(browser, path):
    """Ask for a page without a session, sign in at the forge, and return the page."""
    page = browser.get("/login", params={"next": path})
    return click(browser, page, "/login/oauth/authorize")


def post(cloud, path, body, by="reviewer"):
    """Call the HTTP API as somebody; return status and answer."""
    token = {"Authorization": f"Bearer {by}"}
    with httpx.Client(base_url=cloud.api_url, headers=token, trust_env=False, timeout=SECONDS) as api:
        answer = api.post(path, json=body)
    return answer.status_code, answer.json()


def run_tidegate(project, *arguments):
    """Run the command line against the installation."""
    where = {"TIDEGATE_URL": project.tidegate.cloud.api_url, "TIDEGATE_TOKEN": "reviewer"}
    return subprocess.run(
        [sys.executable, "-m", "tidegate_cli.main", *arguments],
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
