"""Drift: what changes outside of Tidegate is seen by a schedule, shown, and undone if the repository wants that."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

import pytest

from tests.e2e.modules import thing
from tests.e2e.patience import eventually
from tests.e2e.project import Project
from tests.stepfunctions.world import OperatorWiring
from tidegate.domain.drift import DriftRecord, DriftState
from tidegate.domain.errors import NotFound
from tidegate.domain.root import schedule_name

NEVER_REVIEWED = "plan_review: never\n"


@dataclass
class Schedule:
    """A schedule of a repository, and what Tidegate knows of it."""

    project: Project
    name: str = "nightly"

    @cached_property
    def tidegate(self) -> OperatorWiring:
        return OperatorWiring(self.project.tidegate.cloud)

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
        before = self.known()
        self.project.tidegate.cloud.fire_schedule(schedule_name(self.project.name, self.name))

        def look() -> DriftRecord | None:
            record = self.record
            is_over = record is not None and record.ended_at > before.ended_at and not record.execution
            return record if is_over else None

        try:
            return eventually(look, what=f"the end of a run of {self.name} of {self.project.name}")
        except AssertionError as late:
            late.add_note(f"{self.record}\n{self.project.tidegate.story()}")
            raise

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


@pytest.fixture
def deployed(project):
    """Deploy two roots that a schedule looks at."""
    file = f"{NEVER_REVIEWED}drift: {{schedules: {{nightly: {{tag_query: '', schedule: daily}}}}}}\n"
    sha = project.push({"app": thing(), "db": thing()}, **{"tidegate.yaml": file})
    for root in ("app", "db"):
        project.ended(sha, root)
    return project


def test_what_changed_outside_is_found_by_the_schedule(deployed):
    schedule = Schedule(deployed)
    assert schedule.fire().summary == "2 without drift"
    tamper(deployed, "app", "by hand")
    record = schedule.fire()
    assert schedule.states() == {"app": DriftState.DRIFTED, "db": DriftState.NONE}
    (drifted,) = record.drifted
    assert drifted.changes is not None
    assert drifted.changes.any
