"""Plans that begin on Lambda: the same stories as on Fargate, in an installation of their own."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from runner.on_lambda import TRIAL_SECONDS
from tests.e2e.conftest import denied
from tests.e2e.deadlines import eventually
from tests.e2e.installation import Installation
from tests.e2e.modules import thing
from tests.e2e.project import ALL_THE_WAY, cancel, title
from tests.e2e.pulls import open_pull
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate_local.client import LocalCloud

ON_LAMBDA = ["Where does the plan run?", "Start a Lambda runner for the plan", "Plan"]
ON_FARGATE = ["Where does the plan run?", "Start a runner for the plan", "Plan"]
TRIED_AGAIN = ["May the plan be tried again?", "Wait before planning again", "Begin the plan"]


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """The installation of this module, in which a plan on Lambda has 30 s."""
    log = tmp_path_factory.mktemp("lambda") / "cloud.log"
    limits = {"terraform": {"Wait before planning again": {"Seconds": 1}}}
    context, environment = {"plan_runner": "lambda"}, {TRIAL_SECONDS: "30"}
    with LocalCloud(limits=limits, context=context, environment=environment, clock=False, log=log) as cloud:
        yield Installation(cloud)
        assert denied(cloud) == set()


@contextmanager
def at_its_backend(project):
    """Hold the engine of the next plan when it asks its backend; yield its commit and its deployment."""
    cloud = project.tidegate.cloud
    held = cloud.add_fault(service="s3", action="*", role="*PlanEngine*", delay=90)
    sha = project.push({"app": thing()})
    eventually(lambda: cloud.read("faults").get(held), what="the engine at its backend")
    yield sha, project.wait(sha, "app", lambda run: bool(run["external_id"]))["external_id"]
    cloud.clear_faults()


def on_fargate(project, job):
    """Return whether a task was started for a job."""
    return bool(project.tidegate.runners(job) or project.tidegate.runners(job, "STOPPED"))


def test_a_push_is_planned_on_lambda_and_applied_on_fargate(project):
    sha = project.push({"app": thing()})
    run = project.reviewed(sha, "app")
    assert "1 to add" in title(run)
    project.click(run, "Approve")
    applied = project.ended(sha, "app")
    assert (applied["conclusion"], project.value("app")) == ("success", "one")
    deployment, tidegate = applied["external_id"], project.tidegate
    way = [*ALL_THE_WAY[:3], *ON_LAMBDA, *ALL_THE_WAY[5:]]
    eventually(lambda: tidegate.states(deployment) == way)
    assert "Plan: 1 to add" in tidegate.log_of(f"{deployment}-plan-1")
    assert not on_fargate(project, f"{deployment}-plan-1")
    assert on_fargate(project, f"{deployment}-apply-1")


@pytest.mark.nightly
def test_a_plan_that_takes_too_long_moves_to_fargate_and_the_next_one_of_its_root_begins_there(project):
    tidegate = project.tidegate
    with at_its_backend(project) as (sha, deployment):
        eventually(lambda: "Wait before planning again" in tidegate.states(deployment), what="the end of its time")
    run = project.reviewed(sha, "app")
    assert tidegate.states(deployment)[2:12] == [
        "Begin the plan", *ON_LAMBDA, *TRIED_AGAIN, *ON_FARGATE,
    ]  # fmt: skip
    why = "it needs more than 13 minutes"
    assert why in tidegate.log_of(f"{deployment}-plan-1")
    assert f"This plan moved from Lambda to Fargate: {why}." in tidegate.log_of(f"{deployment}-plan-2")
    project.click(run, "Reject")
    next_one = project.reviewed(project.push({"app": thing("two")}), "app")["external_id"]
    assert tidegate.states(next_one)[2:6] == ["Begin the plan", *ON_FARGATE]
    assert f"because one exceeded the limits of Lambda: {why}" in tidegate.log_of(f"{next_one}-plan-1")


@pytest.mark.nightly
def test_a_function_that_is_killed_is_noticed_at_once_and_its_plan_moves_to_fargate(project):
    tidegate = project.tidegate
    with at_its_backend(project) as (sha, deployment):
        (name,) = [name for name in tidegate.cloud.info["functions"].values() if "PlanFunctionsPlan" in name]
        tidegate.cloud.kill_function(name)
        eventually(lambda: "Wait before planning again" in tidegate.states(deployment), what="its death to be noticed")
    # The engine was killed as well, and could not give its lock back: as on Fargate, people do.
    eventually(lambda: tidegate.states(deployment).count("Plan") == 2)
    assert "it needs more memory" in tidegate.log_of(f"{deployment}-plan-2")
    assert project.wait(sha, "app", lambda run: run["status"] == "completed")["external_id"] == deployment


@pytest.mark.nightly
def test_a_plan_that_is_cancelled_ends_with_its_heartbeat(project):
    tidegate = project.tidegate
    with at_its_backend(project) as (sha, deployment):
        status, answer = cancel(project, deployment)
        assert (status, answer["deployment"]["state"]) == (200, "cancelled")
        job = f"{deployment}-plan-1"
        eventually(lambda: "This plan was cancelled or has expired." in (tidegate.log_of(job) or ""), what="its end")
    assert project.ended(sha, "app")["conclusion"] == "cancelled"
    assert tidegate.states(deployment)[-1] == "Cancelled"
    assert not on_fargate(project, job)


@pytest.mark.nightly
def test_what_a_pull_request_would_change_is_planned_on_lambda(project):
    project.push({"app": thing()})
    pull, head = open_pull(project, {"app": thing("two")})
    pull.at_rest(head)
    assert pull.states() == {"app": LayerState.PLANNED}
    assert not on_fargate(project, pull.layers()["app"].job)
    assert "terraform_data.thing" in project.tidegate.log_of(pull.layers()["app"].job)
