"""From a push to its end: what people see on the check runs, and what is left in the cloud."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import gated, thing
from tests.e2e.pages import run_tidegate
from tests.e2e.project import ALL_THE_WAY, gate_of, has_ended, title, words
from tidegate_local.forge.client import ForgeAnswered


def test_of_two_roots_that_a_push_changes_the_approved_one_is_applied_and_the_rejected_one_is_not(project):
    sha = project.push({"live/app": thing(), "live/db": thing()})
    app, db = project.reviewed(sha, "live/app"), project.reviewed(sha, "live/db")
    assert "1 to add" in title(app)
    assert "terraform_data.thing" in app["output"]["text"]
    project.click(db, "Reject")
    project.click(app, "Approve")

    applied, rejected = project.ended(sha, "live/app"), project.ended(sha, "live/db")
    assert (applied["conclusion"], rejected["conclusion"]) == ("success", "cancelled")
    assert "reviewer" in words(applied)
    assert "reviewer" in words(rejected)
    assert (project.value("live/app"), project.value("live/db")) == ("one", None)
    tidegate = project.tidegate
    assert tidegate.audited(applied["external_id"]) == ["RUNNING", "SUCCESS"]
    assert tidegate.audited(rejected["external_id"]) == ["REJECTED"]
    eventually(lambda: tidegate.states(applied["external_id"]) == ALL_THE_WAY)
    eventually(lambda: tidegate.states(rejected["external_id"])[-1] == "Rejected")
    provider = "terraform.io/builtin/terraform"
    eventually(lambda: provider in run_tidegate(project, "insights", project.name).stdout, what="the provider's time")
    # The same again changes nothing, and needs nobody.
    again = project.push({"live/app": thing() + "# a comment\n"})
    assert project.ended(again, "live/app")["conclusion"] == "success"
    assert title(project.ended(again, "live/app")) == "No changes"
    assert tidegate.audited(project.ended(again, "live/app")["external_id"]) == []


@pytest.mark.nightly
def test_log_lines_appear_in_cloudwatch_while_the_engine_runs_and_the_whole_log_is_in_s3_afterwards(project, tmp_path):
    gate = gate_of(tmp_path)
    sha = project.push({"app": gated(gate)})
    deployment = project.approved(sha, "app")["external_id"]
    job, tidegate = f"{deployment}-apply-1", project.tidegate
    eventually(lambda: any("waiting at the gate" in line for line in tidegate.log_lines(job)))
    assert not any("the gate is open\n" in line for line in tidegate.log_lines(job))
    assert tidegate.object("artifact_bucket", f"logs/{job}.txt") is None
    project.wait(sha, "app", "Applying")
    gate.touch()
    assert project.ended(sha, "app")["conclusion"] == "success"
    kept = tidegate.log_of(job)
    for line in ("waiting at the gate", "the gate is open", "Apply complete! Resources: 1 added"):
        assert line in kept
        eventually(lambda line=line: any(line in said for said in tidegate.log_lines(job)), what=line)


@pytest.mark.nightly
def test_buttons_that_several_people_click_at_once_decide_once(project):
    sha = project.push({"app": thing()})
    run = project.reviewed(sha, "app")

    def click(button_and_person):
        button, person = button_and_person
        try:
            project.click(run, button, person)
        except ForgeAnswered as late:
            return late.status
        return 200

    clicks = [(button, person) for button in ("Approve", "Reject") for person in ("reviewer", "maintainer")]
    with ThreadPoolExecutor(4) as pool:
        assert 200 in list(pool.map(click, clicks))
    end = project.ended(sha, "app")
    approved = end["conclusion"] == "success"
    assert end["conclusion"] == ("success" if approved else "cancelled")
    assert project.value("app") == ("one" if approved else None)
    assert project.tidegate.audited(run["external_id"]) == (["RUNNING", "SUCCESS"] if approved else ["REJECTED"])
    assert project.tidegate.states(run["external_id"]).count("Apply") == (1 if approved else 0)


@pytest.mark.nightly
def test_somebody_who_may_not_write_decides_nothing_and_is_told_so(project):
    sha = project.push({"app": thing()})
    run = project.reviewed(sha, "app")
    project.click(run, "Approve", by="visitor")
    told = project.wait(sha, "app", lambda seen: "needs write access" in words(seen))
    assert title(told).startswith("Review the plan")
    project.click(told, "Reject")
    assert has_ended(project.ended(sha, "app"))
    assert project.tidegate.audited(run["external_id"]) == ["REJECTED"]
