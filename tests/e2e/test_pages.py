"""The web pages, the HTTP API and the command line against the installation, as people and operators use them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from urllib.parse import urljoin

import httpx
import pytest

from local.forge.pages.visit import COOKIE
from tests.e2e.modules import gated, thing
from tests.e2e.patience import eventually
from tests.e2e.project import gate_of, title

#: An answer takes much less, unless the machine is busy.
SECONDS = 120


def hidden_fields(page, action):
    """Return where a page's form goes and what it carries."""
    forms = re.findall(r'<form method="post" action="([^"]*)"[^>]*>(.*?)</form>', page.text, re.DOTALL)
    [(target, form)] = [one for one in forms if one[0].endswith(action)]
    fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', form)
    return urljoin(str(page.url), unescape(target)), {name: unescape(value) for name, value in fields}


@pytest.fixture
def browser(tidegate):
    """A browser without scripts in which the reviewer is signed in at the forge."""
    with httpx.Client(
        base_url=tidegate.cloud.api_url, follow_redirects=True, trust_env=False, timeout=SECONDS
    ) as client:
        client.cookies.set(COOKIE, "reviewer")
        yield client


def press(browser, page, action, **fields):
    """Send a form as a browser does."""
    target, carried = hidden_fields(page, action)
    origin = str(page.url.copy_with(raw_path=b"")).rstrip("/")
    answer = browser.post(target, data={**carried, **fields}, headers={"Origin": origin})
    assert answer.status_code == 200, answer.text
    return answer


def sign_in(browser, path):
    """Ask for a page without a session, sign in at the forge, and return the page."""
    page = browser.get("/login", params={"next": path})
    return press(browser, page, "/login/oauth/authorize")


def test_a_person_signs_in_looks_around_confirms_and_follows_the_log(project, browser, tmp_path):
    gate = gate_of(tmp_path)
    sha = project.push({"app": gated(gate)})
    deployment = project.reviewed(sha, "app")["external_id"]

    repository = sign_in(browser, f"/repositories/{project.name}")
    assert "/queue?" in repository.text
    assert deployment in browser.get("/queue", params={"repository": project.name, "root": "app"}).text
    page = browser.get(f"/deployments/{deployment}")
    assert "terraform_data.gated" in page.text
    assert "is recorded" in press(browser, page, "/review", decision="approve").text

    job = f"{deployment}-apply-1"
    log = f"/api/jobs/{job}/log"
    told, after = [], 0
    with httpx.Client(
        base_url=project.tidegate.cloud.api_url,
        headers={"Authorization": "Bearer reviewer"},
        trust_env=False,
        timeout=SECONDS,
    ) as api:

        def follow(until):
            nonlocal after
            lines = api.get(log, params={"after": after}).json()
            told.extend(lines.get("lines", ()))
            after = lines.get("next", after)
            return until(lines)

        eventually(lambda: follow(lambda _: any("waiting at the gate" in line for line in told)), what="the log")
        assert not any("Apply complete" in line for line in told)
        gate.touch()
        eventually(lambda: follow(lambda lines: lines["ended"]), what="the end of the log")
    assert sum("Apply complete! Resources: 1 added" in line for line in told) == 1
    assert title(project.ended(sha, "app")).startswith("Applied")
    assert "Apply complete" in browser.get(f"/jobs/{job}").text


def test_an_operator_deploys_through_the_api_and_unlocks_by_the_command_line(project):
    first = project.push({"app": thing("one")})
    project.deployed(first, "app")
    before = project.newest(first, "app")["external_id"]
    asked = {"repository": project.name, "roots": ["app"]}
    with httpx.Client(base_url=project.tidegate.cloud.api_url, trust_env=False, timeout=SECONDS) as api:
        strange = api.post("/api/deployments", json=asked, headers={"Authorization": "Bearer developer"})
        assert strange.status_code == 403
        api.headers["Authorization"] = "Bearer reviewer"
        answer = api.post("/api/deployments", json=asked)
        assert answer.status_code == 202
        path = f"/api/requests/{answer.json()['request']}"
        [deployment] = eventually(lambda: api.get(path).json()["deployments"], what="the deployment")
        assert deployment["id"] != before
        path = f"/api/deployments/{deployment['id']}"
        eventually(lambda: api.get(path).json()["state"] == "no_changes", what="the end of the deployment")
        where = {"repository": project.name, "root": "app"}
        assert api.get("/api/queue", params=where).json()["lock"]["by"] == "reviewer"
        unlocked = tidegate(project, "unlock", project.name, "app")
        assert unlocked.returncode == 0, unlocked.stderr
        assert api.get("/api/queue", params=where).json()["lock"] is None
    assert "not locked" in tidegate(project, "unlock", project.name, "app").stdout


def tidegate(project, *arguments):
    """Run the command line against the installation."""
    where = {"TIDEGATE_URL": project.tidegate.cloud.api_url, "TIDEGATE_TOKEN": "reviewer"}
    return subprocess.run(
        [sys.executable, "-m", "cli.main", *arguments],
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


STAGES = """
dirs:
  dev/app: {tags: [dev]}
  prod/app: {tags: [prod]}
stacks:
  names:
    dev: {tag_query: dev}
    prod: {tag_query: prod, rules: {apply_after: [dev]}}
"""


def test_a_change_is_drawn_and_searched_while_one_stack_waits_for_another(project, browser):
    sha = project.push({"dev/app": thing("one"), "prod/app": thing("one")}, **{"tidegate.yaml": STAGES})
    first = project.reviewed(sha, "dev/app")["external_id"]
    waiting = project.wait(sha, "prod/app", lambda run: title(run).startswith("Waiting for"))["external_id"]
    with httpx.Client(
        base_url=project.tidegate.cloud.api_url,
        headers={"Authorization": "Bearer reviewer"},
        trust_env=False,
        timeout=SECONDS,
    ) as api:
        query = {"repository": project.name, "query": "stack_name:prod and state:gated"}
        [found] = api.get("/api/deployments", params=query).json()["deployments"]
        assert found["id"] == waiting
        dev, prod = api.get(f"/api/changes/{found['change_set']}").json()["stacks"]
    assert (dev["state"], prod["state"], prod["apply_after"]) == ("awaiting_review", "gated", ["dev"])
    assert [one["deployment"] for one in prod["members"][0]["gated_by"]] == [first]
    page = sign_in(browser, f"/changes/{found['change_set']}").text
    assert 'class="graph"' in page
    assert f'href="/deployments/{first}"' in page
    drawn = tidegate(project, "stacks", waiting)
    assert drawn.returncode == 0, drawn.stderr
    assert "waits for dev/app of dev (waiting for review)" in " ".join(drawn.stdout.split())
    press(browser, browser.get(f"/deployments/{waiting}"), "/gate", decision="reject")
    project.press(project.newest(sha, "dev/app"), "Confirm")
    assert title(project.ended(sha, "prod/app")).startswith("Rejected")
