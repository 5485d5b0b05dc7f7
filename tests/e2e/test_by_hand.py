"""Deploys by hand from a pull request, and running again: as people ask for them at the forge."""

from __future__ import annotations

import pytest

from tests.e2e.modules import thing
from tests.e2e.project import title, words
from tests.e2e.pulls import Branch, edit

BROKEN = 'resource "nothing_of_this_kind" "x" {\n'
STRICT = "version: 1\napply_requirements: {approved: {any_of_count: 1}}\n"


@pytest.fixture
def branch(project):
    """Return what opens a pull request that changes ``app``."""

    def opened(file: str | None = None) -> Branch:
        files = {"tidegate.yaml": file} if file else {}
        base = project.push({"app": thing("one"), "db": thing("one")}, **files)
        project.deployed(base, "app", "db")
        content = {"app/main.tf": project.backed("app", thing("two"))}
        head = project.push_files(content, branch="feature", base="main")
        number = project.tidegate.maintainer.open_pull_request(project.name, "feature", title="Try two")
        return Branch(project, number, head)

    return opened


def test_a_pull_requests_head_is_deployed_by_hand_once_its_requirements_are_met(project, branch):
    pull = branch(STRICT)
    pull.comment("tidegate deploy")
    refusal = pull.reply("1 approval")
    assert "is not deployed" in refusal
    assert project.newest(pull.head, "app") is None

    project.person("reviewer").review(project.name, pull.number, "APPROVE")
    pull.comment("tidegate deploy")
    run = project.reviewed(pull.head, "app")
    assert project.newest(pull.head, "db") is None
    project.click(run, "Approve")
    assert title(project.ended(pull.head, "app")).startswith("Applied")
    assert project.value("app") == "two"

    # Merges wait now, until somebody unlocks.
    merged = project.push({"app": thing("three")})
    project.wait(merged, "app", lambda shown: "locked" in words(shown))
    told = pull.reply("The queue of `app` is locked by `")
    assert "`tidegate unlock -p app`" in told
    pull.comment("tidegate unlock")
    assert "`app`" in pull.reply("🔓")
    project.approved(merged, "app")
    project.ended(merged, "app")
    assert project.value("app") == "three"


@pytest.mark.nightly
def test_a_merged_pull_request_unlocks_what_it_changed_and_no_other_queue(project, branch):
    pull = branch()
    pull.comment("tidegate deploy")
    project.click(project.reviewed(pull.head, "app"), "Approve")
    project.ended(pull.head, "app")
    other = edit(project, {"db": thing("two")}, "other", base="main")
    Branch(project, project.tidegate.maintainer.open_pull_request(project.name, "other", title="Two"), other).comment(
        "tidegate deploy"
    )
    project.reviewed(other, "db")
    merged = project.tidegate.maintainer.merge_pull_request(project.name, pull.number)
    project.wait(merged, "app", lambda shown: "locked" in words(shown))
    pull.comment("tidegate unlock")
    assert "`db`" not in pull.reply("🔓")
    assert pull.reply("🔓").count("🔓") == 1


@pytest.mark.nightly
def test_force_passes_over_requirements_and_is_audited(project, branch):
    pull = branch(STRICT)
    pull.comment("tidegate deploy -p app --force")
    assert "1 approval" in pull.reply("**Forced**")
    run = project.reviewed(pull.head, "app")
    assert project.tidegate.audited(run["external_id"]) == ["FORCED"]
    project.click(run, "Reject")
    project.ended(pull.head, "app")
    assert project.value("app") == "one"


@pytest.mark.nightly
def test_who_may_not_write_and_what_is_no_command_are_answered(branch):
    pull = branch()
    pull.comment("tidegate deplyo -p app")
    pull.reply("Did you mean `deploy`?")
    pull.comment("tidegate deploy", by="visitor")
    pull.reply("`visitor` may not write")
    pull.comment("tidegate deploy -p ap")
    pull.reply("Did you mean `app`?")


@pytest.mark.nightly
def test_a_failed_check_is_run_again_and_then_all_of_them(project):
    first = project.push({"app": BROKEN, "db": thing("one")})
    project.deployed(first, "db")
    failed = project.ended(first, "app")
    assert failed["conclusion"] == "failure"

    project.person("maintainer").rerun(project.name, failed["id"])
    again = project.wait(first, "app", lambda run: run["id"] != failed["id"] and run["status"] == "completed")
    assert again["external_id"] != failed["external_id"]
    assert title(again) == title(failed)
    assert _page(project, failed) in words(again)
    old = project.wait_for(first, failed["id"], lambda run: _page(project, again) in words(run))
    assert old["conclusion"] == "failure"

    db = project.newest(first, "db")
    project.person("maintainer").rerun_all(project.name, first)
    anew = project.wait(
        first, "db", lambda run: run["external_id"] != db["external_id"] and run["status"] == "completed"
    )
    assert title(anew) == "No changes"
    project.wait(first, "app", lambda run: run["external_id"] not in {again["external_id"], failed["external_id"]})


def _page(project, run):
    return f"/{project.name}/runs/{run['id']}"


@pytest.mark.nightly
def test_what_did_not_fail_or_is_not_the_latest_is_answered_on_its_check_run(project):
    first = project.push({"app": BROKEN})
    failed = project.ended(first, "app")
    second = project.push({"app": thing("two")})
    project.deployed(second, "app")

    project.person("maintainer").rerun(project.name, failed["id"])
    project.wait(first, "app", lambda run: second[:7] in words(run))
    applied = project.newest(second, "app")
    project.person("maintainer").rerun(project.name, applied["id"])
    project.wait(second, "app", lambda run: "succeeded" in words(run))
