"""Images enter a config repository, are tested, land, and go from environment to environment; what can go wrong."""

from __future__ import annotations

import json
import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.config_project import ConfigProject, sample
from tests.e2e.conftest import WAITED_FOR
from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pages import run_tidegate, sign_in
from tests.e2e.project import Project, has_ended, title, words
from tidegate_local.demo.updates import SERVICES
from tidegate_local.updates_client import images as announced_images

#: Writes a file for each service of the image set and no other, once the gate is open.
_GENERATOR = """\
introduce_images:
	while [ ! -e {gate} ]; do sleep 0.1; done
	cp "$(IMAGE_FILE)" images/staging.json
	rm -rf generated/staging && mkdir -p generated/staging
	python3 -c 'import json; [open(f"generated/staging/{{name}}.yaml", "w").write(image["Digest"]) \
for name, image in json.load(open("images/staging.json")).items()]'
"""
#: Roots of which one waits for production.
_STACKS = f"""
dirs:
  network: {{tags: [network]}}
  cleanup: {{tags: [cleanup]}}
stacks:
  names:
    network: {{tag_query: network}}
    cleanup:
      tag_query: cleanup
      rules: {{auto_apply: true, apply_after: [{{repository: {WAITED_FOR[0]}, environment: shop/production}}]}}
"""
#: What enters production needs two people.
_TWO_PEOPLE = """
apply_requirements:
  checks:
    - tag_query: environment:production
      approved: {any_of: ['team:platform'], any_of_count: 2}
    - tag_query: ''
"""


@pytest.fixture
def project(tidegate, request):
    readable = re.sub("[^a-z0-9]+", "-", request.node.name.lower())[5:40].strip("-")
    return ConfigProject(tidegate, f"acme/{readable}-{uuid.uuid4().hex[:6]}")


def announced(number):
    """Return the images of a build."""
    return announced_images(SERVICES, number)


def images(project, revision, environment="staging"):
    """Return the images of an environment at a revision."""
    return json.loads(project.git("show", f"{revision}:images/{environment}.json"))


def test_images_reach_production(project):
    project.tidegate.maintainer.duplicate_webhooks("check_run", 3)
    begun = project.begin()
    first = project.announce(1)
    tested = project.check(first, "success")
    assert project.lands(first) == tested == project.head("main") == project.head("auto")
    assert images(project, tested) == announced(1)
    project.report("staging-eu")
    promotion = project.promoted("production")
    second = project.check(promotion, "success")
    assert project.lands(promotion) == second == project.head("main")
    assert images(project, second, "production") == announced(1)
    assert project.newest("production")["commit"] == second
    # The repository's own history tells it all, and its generated files are current at each commit.
    ids = "--format=%(trailers:key=Autocommit-Id,valueonly)"
    assert project.git("log", "--reverse", ids, f"{begun}..forge/heads/main").split() == [first, promotion]


def test_a_failed_image_set_is_evicted_and_the_innocent_one_behind_it_lands(project):
    """Cases 17 and 18, with buttons of the check run."""
    begun = project.begin()
    guilty, innocent = project.announce(1), project.announce(2)
    suspect = project.check(innocent, "failure")
    shown = project.shown(suspect, lambda run: "check failed" in title(run))
    assert "because of an entry below it" in words(shown)
    broken = project.check(guilty, "failure")
    project.ends(guilty, "evicted")
    remade = project.check(innocent, "success", not_on=suspect)
    assert project.lands(innocent) == remade == project.head("main")
    assert project.git("rev-parse", f"{remade}^").strip() == begun
    assert images(project, remade) == announced(2)
    assert title(project.shown(suspect, lambda run: run["status"] == "completed")) == f"Rebuilt as {remade[:12]}"
    # Retry: the older images do not come back over newer ones. Roll back brings the ones before.
    run = project.shown(broken, lambda run: title(run) == "Evicted from the auto branch")
    project.click(run, "Retry")
    assert "newer" in words(project.shown(broken, lambda run: "newer" in words(run)))
    project.click(project.shown(remade, lambda run: title(run) == "Landed on the default branch"), "Roll back")
    back = project.promoted("staging")
    restored = project.check(back, "success")
    assert project.lands(back) == restored == project.head("main")
    assert images(project, restored) == images(project, begun)
    assert project.hold()["by"] == "reviewer"


def test_a_person_moves_the_default_branch_and_changes_images_by_hand(project):
    """Cases 30, 31 and 33."""
    project.begin()
    entry = project.announce(1)
    old = project.commit(entry)
    template = project.git("show", "forge/heads/main:templates/web.yaml")
    by_hand = project.push_files({"templates/web.yaml": template + "# by hand\n"}, "Change the template")
    new = project.check(entry, "success", not_on=old)
    assert project.lands(entry) == new == project.head("main")
    assert project.git("rev-parse", f"{new}^").strip() == by_hand
    generated = project.git("show", f"{new}:generated/staging/web.yaml")
    assert "# by hand" in generated
    assert announced(1)["web"]["Digest"] in generated
    rolled_back = json.dumps(images(project, by_hand), indent=2)
    project.push_files({"images/staging.json": rolled_back}, "Roll back by hand")
    held = project.queue(lambda _: project.hold())
    assert held["entries"] == []
    assert "images/staging.json" in project.hold()["reason"]


def test_the_auto_branch_is_deleted_while_commits_are_made_and_rewritten_by_a_stranger(project, gate):
    """Cases 8, 34, 36 and 37: the lease is lost at the push."""
    begun = project.begin(Makefile=_GENERATOR.format(gate=gate))
    gate.touch()
    first = project.announce(1, ("web", "worker"))
    project.commit(first)
    gate.unlink()
    second = project.announce(2, ("web", "api"))
    project.queue(lambda queue: queue["doing"] == "apply")
    project.git("push", "--quiet", "{url}", ":refs/heads/auto")
    gate.touch()
    tip = project.check(second, "success")
    assert project.lands(second) == tip == project.head("main")
    assert project.entry(first)["state"] == "landed"
    changed = project.git("show", "--format=", "--name-status", tip).split("\n")
    assert {"A\tgenerated/staging/api.yaml", "D\tgenerated/staging/worker.yaml"} <= set(changed)
    stranger = project.push_files({"notes.md": "Mine\n"}, "A commit of somebody else", branch="auto")
    third = project.announce(3, ("web",))
    blocked = project.queue(lambda queue: queue["blocked"])["blocked"]
    assert stranger[:12] in blocked["reason"]
    assert project.head("auto") == stranger
    assert project.git("rev-parse", f"{tip}~2").strip() == begun
    project.git("push", "--quiet", "{url}", ":refs/heads/auto")
    project.tidegate.reconcile()
    assert project.commit(third) == project.head("auto")


def test_a_green_commit_lands_although_its_webhook_is_lost_and_the_branch_was_locked(project):
    """Cases 39 and 41: the reconciler alone suffices, and a refused move is tried again."""
    project.begin()
    project.tidegate.maintainer.protect(project.name, locked=True)
    entry = project.announce(1)
    commit = project.commit(entry)
    with project.tidegate.webhooks_lost():
        project.check(entry, "success")
        project.tidegate.sent("check_run", project.name, action="completed")
    project.tidegate.reconcile()
    blocked = project.queue(lambda queue: queue["blocked"])["blocked"]
    assert "refuses to move the branch" in blocked["reason"]
    project.tidegate.maintainer.protect(project.name)
    assert project.lands(entry) == commit == project.head("main")


@pytest.mark.nightly
def test_an_environment_waits_for_a_stack_and_a_stack_for_the_environment(tidegate, browser):
    """Nothing but the events themselves lets them go on: no pass of the reconciler."""
    config, infra = ConfigProject(tidegate, WAITED_FOR[0]), Project(tidegate, WAITED_FOR[1])
    promotes = f"- name: production\n          after: [{{repository: {infra.name}, stack: network}}]\n"
    config.begin(**{"tidegate.yaml": sample(config.app)["tidegate.yaml"].replace("- name: production\n", promotes)})
    sha = infra.push({"network": thing("one")}, **{"tidegate.yaml": _STACKS})
    network = infra.reviewed(sha, "network")
    first = config.announce(1)
    config.check(first, "success")
    config.lands(first)
    later = infra.push({"cleanup": thing("one")})
    infra.wait(later, "cleanup", "Waiting for environment shop/production")
    config.report("staging-eu")
    page = sign_in(browser, f"/config-updates/{config.name}").url
    eventually(lambda: f"the stack network of {infra.name}" in browser.get(page).text, what="what is waited for")
    assert config.queue()["entries"] == []

    infra.click(network, "Approve")
    promotion = config.promoted("production")
    config.check(promotion, "success")
    config.lands(promotion)
    config.report("production-eu")
    assert not has_ended(infra.newest(later, "cleanup"))
    config.report("production-us")
    assert title(infra.ended(later, "cleanup")).startswith("Applied")
    assert infra.value("cleanup") == "one"


def frozen(ends):
    """Return a freeze window that has begun."""
    begun = datetime.now(UTC) - timedelta(hours=1)
    return f"freeze:\n  - {{from: '{begun.isoformat()}', until: '{ends.isoformat()}', reason: holidays}}\n"


def waits(project, entry, why):
    """Wait until an entry in the queue says why it waits."""
    return project.entry(entry, lambda one: one["state"] == "queued" and why in one["waits_for"], f"waiting: {why}")


@pytest.mark.nightly
def test_two_people_promote_and_a_freeze_window_keeps_images_out_except_with_an_override(project):
    file = sample(project.app)["tidegate.yaml"] + _TWO_PEOPLE
    begun = project.begin(**{"tidegate.yaml": file})
    first = project.announce(1)
    project.check(first, "success")
    project.lands(first)
    project.report("staging-eu")
    promotion = project.promoted("production")
    waits(project, promotion, "approv")
    for person in ("reviewer", "developer"):
        project.call("POST", "/sets/shop/environments/production/promote", {}, by=person)
        waits(project, promotion, "approv")
    project.call("POST", "/sets/shop/environments/production/promote", {}, by="maintainer")
    project.check(promotion, "success")
    project.lands(promotion)

    project.push_files({"tidegate.yaml": file + frozen(datetime.now(UTC) + timedelta(days=1))}, "Freeze")
    second = project.announce(2)
    waits(project, second, "holidays")
    rollback = ("updates", "rollback", project.name, "production")
    assert run_tidegate(project, *rollback).returncode == 0
    back = project.promoted("production")
    waits(project, back, "holidays")
    assert run_tidegate(project, *rollback, "--override", "Checkout is down").returncode == 0
    project.check(back, "success")
    landed = project.lands(back)
    assert images(project, landed, "production") == images(project, begun, "production")
    told = [each for each in project.tidegate.cloud.audit() if each["repository"] == project.name]
    assert any("Checkout is down" in str(each) for each in told)

    project.call("POST", "/sets/shop/release", {})
    waits(project, second, "holidays")
    project.push_files({"tidegate.yaml": file + frozen(datetime.now(UTC) + timedelta(seconds=10))}, "Thaw soon")
    last = project.check(second, "success")
    assert project.lands(second) == last == project.head("main")
    assert images(project, last) == announced(2)
