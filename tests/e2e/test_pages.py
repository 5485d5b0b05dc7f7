"""The web pages, the HTTP API and the command line against the installation, as people and operators use them."""

from __future__ import annotations

import httpx
import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import gated, thing
from tests.e2e.pages import SECONDS, click, run_tidegate, sign_in
from tests.e2e.project import gate_of, title


def test_a_person_signs_in_looks_around_approves_and_follows_the_log(project, browser, tmp_path):
    gate = gate_of(tmp_path)
    sha = project.push({"app": gated(gate)})
    deployment = project.reviewed(sha, "app")["external_id"]

    repository = sign_in(browser, f"/repositories/{project.name}")
    assert "/queue?" in repository.text
    assert deployment in browser.get("/queue", params={"repository": project.name, "root": "app"}).text
    page = browser.get(f"/deployments/{deployment}")
    assert "terraform_data.gated" in page.text
    assert "is recorded" in click(browser, page, "/review", decision="approve").text

    job = f"{deployment}-apply-1"
    log = f"/api/v1/jobs/{job}/log"
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


@pytest.mark.nightly
def test_an_operator_deploys_through_the_api_and_unlocks_by_the_command_line(project):
    first = project.push({"app": thing("one")})
    project.deployed(first, "app")
    before = project.newest(first, "app")["external_id"]
    asked = {"repository": project.name, "roots": ["app"]}
    with httpx.Client(base_url=project.tidegate.cloud.api_url, trust_env=False, timeout=SECONDS) as api:
        strange = api.post("/api/v1/deployments", json=asked, headers={"Authorization": "Bearer developer"})
        assert strange.status_code == 403
        api.headers["Authorization"] = "Bearer reviewer"
        answer = api.post("/api/v1/deployments", json=asked)
        assert answer.status_code == 202
        path = f"/api/v1/requests/{answer.json()['request']}"
        [deployment] = eventually(lambda: api.get(path).json()["deployments"], what="the deployment")
        assert deployment["id"] != before
        path = f"/api/v1/deployments/{deployment['id']}"
        eventually(lambda: api.get(path).json()["state"] == "no_changes", what="the end of the deployment")
        where = {"repository": project.name, "root": "app"}
        assert api.get("/api/v1/queue", params=where).json()["lock"]["by"] == "reviewer"
        unlocked = run_tidegate(project, "unlock", project.name, "app")
        assert unlocked.returncode == 0, unlocked.stderr
        assert api.get("/api/v1/queue", params=where).json()["lock"] is None
    assert "no longer locked" in run_tidegate(project, "unlock", project.name, "app").stdout


STAGES = """
dirs:
  dev/app: {tags: [dev]}
  prod/app: {tags: [prod]}
stacks:
  names:
    dev: {tag_query: dev}
    prod: {tag_query: prod, rules: {apply_after: [dev]}}
"""


@pytest.mark.nightly
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
        [found] = api.get("/api/v1/deployments", params=query).json()["deployments"]
        assert found["id"] == waiting
        dev, prod = api.get(f"/api/v1/changes/{found['change_set']}").json()["stacks"]
    assert (dev["state"], prod["state"], prod["apply_after"]) == ("awaiting_review", "gated", ["dev"])
    assert [one["deployment"] for one in prod["members"][0]["gated_by"]] == [first]
    page = sign_in(browser, f"/changes/{found['change_set']}").text
    assert 'class="graph"' in page
    assert f'href="/deployments/{first}"' in page
    drawn = run_tidegate(project, "stacks", waiting)
    assert drawn.returncode == 0, drawn.stderr
    assert "waits for dev/app of dev (waiting for review)" in " ".join(drawn.stdout.split())
    click(browser, browser.get(f"/deployments/{waiting}"), "/gate", decision="reject")
    project.click(project.newest(sha, "dev/app"), "Approve")
    assert title(project.ended(sha, "prod/app")).startswith("Rejected")
