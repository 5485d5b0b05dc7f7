"""Drift: what changes outside of Tidegate is seen by a schedule, shown, and undone if the repository wants that."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest

from tests.e2e.deadlines import eventually
from tests.e2e.modules import thing
from tests.e2e.pages import run_tidegate, sign_in
from tests.e2e.project import Project, rests
from tests.stepfunctions.scenario import OperatorPorts
from tidegate.config.rules.drift import DriftRecord, DriftState
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final
from tidegate.roots.rules.root import schedule_name
from tidegate.rules.errors import NotFound


@dataclass
class Schedule:
    """A schedule of a repository, and what Tidegate knows of it."""

    project: Project
    name: str = "nightly"

    @cached_property
    def tidegate(self) -> OperatorPorts:
        return OperatorPorts(self.project.tidegate.cloud)

    @property
    def record(self) -> DriftRecord | None:
        try:
            return self.tidegate.drifts.get(self.project.name, self.name)
        except NotFound:
            return None

    def known(self) -> DriftRecord:
        return eventually(lambda: self.record, what=f"the schedule {self.name} of {self.project.name}")

    def fire(self) -> DriftRecord:
        """Let the schedule's time come; return its record once the run is over."""
        name = schedule_name(self.project.name, self.name)
        return self.looks(lambda: self.project.tidegate.cloud.fire_schedule(name))

    def looks(self, begin: Callable[[], object]) -> DriftRecord:
        """Have a run begin; return the schedule's record once that is over."""
        before = self.known()
        begin()

        def look() -> DriftRecord | None:
            record = self.record
            is_over = record is not None and record.ended_at != before.ended_at and not record.execution
            return record if is_over else None

        try:
            return eventually(look, what=f"the end of a run of {self.name} of {self.project.name}")
        except AssertionError as late:
            late.add_note(f"{self.record}\n{self.project.tidegate.story()}")
            raise

    def issue(self) -> Mapping[str, Any]:
        """Return the issue that shows it."""
        record = self.known()
        found: Mapping[str, Any] = self.project.tidegate.maintainer.call(
            "GET", f"/repos/{self.project.name}/issues/{record.issue}"
        )
        return found

    def states(self) -> dict[str, DriftState]:
        record = self.record
        return {each.root: each.state for each in record.findings} if record else {}


def tamper(project, root, value):
    """Let somebody change what a root made, past Tidegate."""
    state = project.state(root)
    resource = next(each for each in state["resources"] if each["name"] == "thing")
    resource["instances"][0]["attributes"]["input"]["value"] = value
    resource["instances"][0]["attributes"]["output"]["value"] = value
    state["serial"] += 1
    bucket = project.tidegate.cloud.info["state_bucket"]
    body = json.dumps(state).encode()
    project.tidegate.cloud.client("s3").put_object(Bucket=bucket, Key=project.state_key(root), Body=body)


def deploy(project, schedule):
    """Deploy two roots that a schedule looks at."""
    file = f"plan_review: never\ndrift: {{schedules: {{nightly: {schedule}}}}}\n"
    sha = project.push({"app": thing(), "db": thing()}, **{"tidegate.yaml": file})
    for root in ("app", "db"):
        project.ended(sha, root)
        rests(OperatorPorts(project.tidegate.cloud), project.name, root)
    return sha


def newest(project, root, trigger):
    """Return the newest deployment of a root that something asked for."""
    tidegate = OperatorPorts(project.tidegate.cloud)
    found = tidegate.repository_index.of_queue(f"{project.name}||{root}", 10).deployments
    return next((one for one in found if one.request.trigger is trigger), None)


def test_what_changed_outside_is_found_by_the_schedule_and_shown_until_it_is_gone(project, browser):
    deploy(project, "{tag_query: '', schedule: daily}")
    schedule = Schedule(project)
    assert schedule.fire().summary == "2 without drift"
    assert schedule.known().issue == 0
    tamper(project, "app", "by hand")
    (drifted,) = schedule.fire().drifted
    assert schedule.states() == {"app": DriftState.DRIFTED, "db": DriftState.NONE}
    assert drifted.changes is not None
    assert drifted.changes.change == 1
    issue = schedule.issue()
    assert (issue["title"], issue["state"]) == ("Drift: nightly", "open")
    assert "| `app` | drifted; to undo it: 1 to change |" in issue["body"]
    assert f"/jobs/{drifted.job}" in issue["body"]
    page = sign_in(browser, f"/drift?repository={project.name}")
    assert "Drifted" in page.text
    assert f'href="/jobs/{drifted.job}"' in page.text
    assert "terraform_data.thing" in browser.get(f"/jobs/{drifted.job}").text
    told = run_tidegate(project, "drift", project.name).stdout
    assert "app  drifted" in told
    assert "1 to change" in told
    tamper(project, "app", "one")
    assert schedule.fire().drifted == ()
    assert schedule.issue()["state"] == "closed"


@pytest.mark.nightly
def test_drift_is_undone_by_a_deployment_in_the_queue_if_the_schedule_says_so(project):
    deploy(project, "{tag_query: 'dir:app', schedule: hourly, reconcile: true}")
    schedule = Schedule(project)
    tamper(project, "app", "by hand")
    (drifted,) = schedule.fire().drifted
    deployment = eventually(
        lambda: (one := newest(project, "app", Trigger.DRIFT)) and is_final(one.state) and one, what="the deployment"
    )
    assert (deployment.id, deployment.state) == (drifted.deployment, State.APPLIED)
    assert project.value("app") == "one"
    assert schedule.issue()["state"] == "open"
    rests(schedule.tidegate, project.name, "app")
    assert schedule.fire().summary == "1 without drift"
    assert schedule.issue()["state"] == "closed"


def newest_check(project, sha):
    return project.check_runs(sha, "tidegate/drift: nightly")[0]


@pytest.mark.nightly
def test_a_check_run_shows_drift_is_run_again_and_goes_with_the_file(project):
    sha = deploy(project, "{tag_query: 'dir:app', schedule: weekly, report: check}")
    schedule = Schedule(project)
    tamper(project, "app", "by hand")
    schedule.fire()
    (run,) = project.check_runs(sha, "tidegate/drift: nightly")
    assert (run["conclusion"], run["output"]["title"]) == ("failure", "1 drifted")
    tamper(project, "app", "one")
    assert schedule.looks(lambda: project.person("developer").rerun(project.name, run["id"])).drifted == ()
    eventually(lambda: newest_check(project, sha)["conclusion"] == "success", what="a check run without drift")
    tamper(project, "app", "by hand")
    assert schedule.looks(lambda: run_tidegate(project, "drift", project.name, "--detect", "nightly")).drifted
    eventually(lambda: newest_check(project, sha)["conclusion"] == "failure", what="a check run with drift")
    assert schedule_name(project.name, "nightly") in project.tidegate.cloud.read("schedules")
    project.push_files({"tidegate.yaml": "plan_review: never\n"})
    eventually(lambda: schedule.record is None, what="the end of the schedule")
    assert schedule_name(project.name, "nightly") not in project.tidegate.cloud.read("schedules")
