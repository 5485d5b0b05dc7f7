"""A change goes from stack to stack by itself: real git, a real engine, real state machines."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.project import title, words
from tests.e2e.promotion import BROKEN, STACKS, TIERS, change, is_blocked, waits_for


def starts_of_applies(project, sha):
    """Return the roots of a commit in the order in which their applies began."""
    mine = [each for each in project.tidegate.cloud.audit() if each["repository"] == project.name]
    return [each["root"] for each in mine if each["revision"] == sha and each["state"] == "RUNNING"]


@pytest.fixture
def promoted(project):
    """Return the commit of a first change that reached all tiers."""
    sha = project.push(change("one"), **{"tidegate.yaml": STACKS})
    project.approved(sha, "dev/app")
    project.approved(sha, "prod/app")
    for root in TIERS:
        assert title(project.ended(sha, root)).startswith("Applied")
    return sha


def test_a_change_goes_from_tier_to_tier_by_itself_and_each_waits_for_the_one_before(project):
    sha = project.push(change("one"), **{"tidegate.yaml": STACKS})
    dev = project.reviewed(sha, "dev/app")
    staging = project.wait(sha, "staging/app", waits_for("dev"))
    prod = project.wait(sha, "prod/app", lambda run: title(run).startswith("Waiting for"))
    assert "dev/app" in words(staging)
    assert "staging/app" in words(prod)
    assert starts_of_applies(project, sha) == []

    project.click(dev, "Approve")
    project.approved(sha, "prod/app")
    for root in TIERS:
        assert title(project.ended(sha, root)).startswith("Applied")
        assert project.value(root) == "one"
    assert starts_of_applies(project, sha) == list(TIERS)


@pytest.mark.nightly
def test_what_is_not_part_of_the_change_is_not_waited_for(project, promoted):
    sha = project.push(change("two", "prod/app"))
    project.approved(sha, "prod/app")
    assert title(project.ended(sha, "prod/app")).startswith("Applied")
    assert project.names(sha) == {"tidegate/deploy: prod/app"}


@pytest.mark.nightly
def test_a_tier_without_changes_opens_the_gate(project, promoted):
    files = {"dev/app": thing("one") + "# nothing new\n", "staging/app": thing("two")}
    sha = project.push(files)
    assert title(project.ended(sha, "dev/app")).startswith("No changes")
    assert title(project.ended(sha, "staging/app")).startswith("Applied")


@pytest.mark.nightly
def test_a_failure_blocks_the_tiers_behind_it_and_a_newer_revision_takes_their_place(project, promoted):
    broken = project.push({**change("two"), "dev/app": BROKEN})
    assert title(project.ended(broken, "dev/app")).startswith("The plan failed")
    blocked = project.wait(broken, "staging/app", is_blocked)
    assert "dev/app" in words(blocked)
    project.wait(broken, "prod/app", is_blocked)
    assert project.value("staging/app") == "one"

    mended = project.push(change("three"))
    superseded = project.ended(broken, "staging/app")
    assert title(superseded).startswith("Superseded")
    assert mended[:7] in words(superseded)
    project.approved(mended, "dev/app")
    project.approved(mended, "prod/app")
    for root in TIERS:
        assert title(project.ended(mended, root)).startswith("Applied")
        assert project.value(root) == "three"
    assert broken[:7] in words(project.newest(mended, "staging/app"))


@pytest.mark.nightly
def test_a_rejected_tier_is_run_again_and_what_it_blocked_goes_on_by_itself(project, promoted):
    sha = project.push(change("two", "dev/app", "staging/app"))
    project.click(project.reviewed(sha, "dev/app"), "Reject")
    blocked = project.wait(sha, "staging/app", is_blocked)

    project.click(blocked, "Retry")
    project.approved(sha, "dev/app")
    assert title(project.ended(sha, "staging/app")).startswith("Applied")
    assert (project.value("dev/app"), project.value("staging/app")) == ("two", "two")


@pytest.mark.nightly
def test_what_is_blocked_can_be_rejected(project, promoted):
    sha = project.push(change("two", "dev/app", "staging/app"))
    project.click(project.reviewed(sha, "dev/app"), "Reject")
    project.click(project.wait(sha, "staging/app", is_blocked), "Reject")
    assert title(project.ended(sha, "staging/app")).startswith("Rejected")
    assert project.value("staging/app") == "one"


@pytest.mark.nightly
def test_a_commit_in_between_waits_behind_what_waits_at_the_gate(project, promoted):
    first = project.push(change("two", "dev/app", "staging/app"))
    dev = project.reviewed(first, "dev/app")
    project.wait(first, "staging/app", waits_for("dev"))

    between = project.push(change("three", "staging/app"))
    project.wait(between, "staging/app", lambda run: title(run).startswith("Queued"))
    assert project.value("staging/app") == "one"

    project.click(dev, "Approve")
    assert title(project.ended(first, "staging/app")).startswith("Applied")
    assert title(project.ended(between, "staging/app")).startswith("Applied")
    assert project.value("staging/app") == "three"


@pytest.mark.nightly
def test_inside_a_stack_a_root_is_planned_once_what_it_depends_on_is_applied(project):
    layered = """
plan_review: manual
dirs:
  network: {tags: [network]}
  app: {when_modified: {depends_on: network}}
  other: {}
"""
    files = {"network": thing("one"), "app": thing("one"), "other": thing("one")}
    first = project.push(files, **{"tidegate.yaml": layered})
    for root in files:
        assert title(project.ended(first, root)).startswith("Applied")

    sha = project.push({"network": BROKEN, "other": thing("two")})
    assert title(project.ended(sha, "network")).startswith("The plan failed")
    assert title(project.ended(sha, "other")).startswith("Applied")
    waiting = project.wait(sha, "app", is_blocked)
    assert "network" in words(waiting)


@pytest.mark.nightly
def test_a_root_in_two_stacks_is_deployed_in_each_with_its_own_variables(project):
    shared = """
plan_review: manual
dirs:
  network: {tags: [network]}
stacks:
  allow_workspace_in_multiple_stacks: true
  names:
    dev:
      tag_query: network
      variables: {network_name: small}
    prod:
      tag_query: network
      variables: {network_name: large}
      rules: {apply_after: [dev]}
workflows:
  - tag_query: ''
    plan:
      - type: env
        name: TF_VAR_name
        cmd: [echo, '${STACK_VAR_NETWORK_NAME}']
      - type: init
      - type: plan
"""
    module = 'variable "name" {}\nresource "terraform_data" "thing" {\n  input = var.name\n}\n'
    sha = project.push({"network": module}, **{"tidegate.yaml": shared})
    assert title(project.ended(sha, "network (dev)")).startswith("Applied")
    assert title(project.ended(sha, "network (prod)")).startswith("Applied")
    assert project.value("network") == "large"
    assert project.names(sha) >= {"tidegate/deploy: network (dev)", "tidegate/deploy: network (prod)"}
