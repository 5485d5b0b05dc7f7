"""Pull requests: what they would change is planned by a real engine, and the record says so."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pytest

from tests.e2e.modules import thing
from tests.e2e.patience import eventually
from tests.e2e.project import Project
from tests.stepfunctions.world import OperatorWiring
from tidegate.domain.errors import NotFound
from tidegate.domain.pull_request_record import PullRequestRecord, PullRequestState
from tidegate.domain.temporary_layer import LayerState, TemporaryLayer

PLANNED = LayerState.PLANNED


@dataclass
class Pull:
    """A pull request, and what Tidegate knows of it."""

    project: Project
    number: int

    @cached_property
    def tidegate(self) -> OperatorWiring:
        return OperatorWiring(self.project.tidegate.cloud)

    @property
    def record(self) -> PullRequestRecord | None:
        try:
            return self.tidegate.pull_requests.get(self.project.name, self.number)
        except NotFound:
            return None

    def layers(self) -> dict[str, TemporaryLayer]:
        """Return the layers of the revision that was discovered last, by their roots."""
        record = self.record
        found = self.tidegate.temporary_layers.many(record.layers) if record else ()
        return {layer.root.name: layer for layer in found}

    def states(self) -> dict[str, LayerState]:
        return {root: layer.state for root, layer in self.layers().items()}

    def at_rest(self, head: str) -> PullRequestRecord:
        """Return the record once nothing is to be done for this head."""

        def look() -> PullRequestRecord | None:
            record = self.record
            rests = record is not None and record.spec.head_sha == head and record.state is PullRequestState.IDLE
            return record if rests and record and record.discovered == record.spec.revision else None

        try:
            return eventually(look, what=f"{self.project.name}#{self.number} at rest at {head}")
        except AssertionError as late:
            late.add_note(f"{self.record}\n{self.layers()}")
            late.add_note(self.project.tidegate.story())
            raise

    def ending(self, record: PullRequestRecord) -> str | None:
        """Return how the execution for a record ended."""
        machine = self.project.tidegate.cloud.state_machines["pull_request"]
        arn = f"{machine.replace(':stateMachine:', ':execution:')}:{record.execution}"
        described = self.project.tidegate.cloud.client("stepfunctions").describe_execution(executionArn=arn)
        return str(described["status"])


@pytest.fixture
def roots(project):
    """Push three roots; nobody confirms what the push asks for, so that nothing is applied."""
    project.push({name: thing() for name in ("app", "db", "web")})
    return project


def open_pull(project, changes, branch="feature"):
    """Open a pull request that changes roots (directory → content); return it and its head."""
    files = {f"{root}/main.tf": project.backed(root, content) for root, content in changes.items()}
    head = project.push_files(files, "Change roots", branch=branch, base="main")
    return Pull(project, project.tidegate.maintainer.open_pull_request(project.name, branch, title="Change")), head


def gated(gate):
    """Return what lets each plan of ``db`` wait until a file is there, as the default branch says."""
    wait = f"while [ ! -e '{gate}' ]; do sleep 0.1; done"
    return f"""workflows:
  - tag_query: 'dir:db'
    plan:
      - type: init
      - type: run
        cmd: [sh, -c, "{wait}"]
      - type: plan
"""


@pytest.fixture
def gate(tmp_path):
    """Return the file that everybody waits for, who waits; it is there at the end, so that nobody waits for ever."""
    gate = tmp_path / "gate"
    yield gate
    gate.touch()


def planning(pull, root):
    """Return the layer of a root once its runner works on its plan."""

    def look():
        layer = pull.layers().get(root)
        at_work = layer is not None and layer.job and pull.project.tidegate.runners(layer.job)
        return layer if at_work and pull.tidegate.jobs.token(layer.job) else None

    return eventually(look, what=f"a runner that plans {root}")


def test_what_a_pull_request_changes_is_planned_and_nothing_is_touched(roots):
    pull, head = open_pull(roots, {"app": thing("two"), "db": thing() + 'output "now" {\n  value = 1\n}\n'})
    record = pull.at_rest(head)
    layers = pull.layers()
    assert {root: layer.state for root, layer in layers.items()} == {"app": PLANNED, "db": PLANNED}
    assert [layer.plan.changes.add for layer in layers.values()] == [1, 1]
    assert roots.state("app") is None
    assert "tidegate/deploy: app" not in roots.names(head)
    eventually(lambda: pull.ending(record) == "SUCCEEDED", what="the end of its execution")


def test_a_plan_that_fails_is_shown_and_fails_no_other(roots):
    pull, head = open_pull(roots, {"app": thing("${nothing.of_this_kind}"), "db": thing("two")})
    record = pull.at_rest(head)
    assert pull.states() == {"app": LayerState.FAILED, "db": PLANNED}
    assert "Reference to undeclared resource" in pull.layers()["app"].last_lines
    assert pull.ending(record) == "SUCCEEDED"


def test_a_newer_commit_stops_the_plans_of_the_older_one(roots, gate):
    roots.push_files({"tidegate.yaml": gated(gate)})
    pull, older = open_pull(roots, {"app": thing("two"), "db": thing("two")})
    overtaken, record = planning(pull, "db"), pull.record
    files = {"app/main.tf": roots.backed("app", thing("three")), "db/main.tf": roots.backed("db", thing())}
    newer = roots.push_files(files, "Leave db alone", branch="feature")
    pull.at_rest(newer)
    assert pull.states() == {"app": PLANNED}
    assert pull.ending(record) == "ABORTED"
    eventually(lambda: not roots.tidegate.runners(overtaken.job), what="the runner of the older commit to stop")
    assert roots.tidegate.object("artifact_bucket", f"plans/{overtaken.job}/plan.tfplan") is None
    assert [run["status"] for run in roots.check_runs(older, "tidegate/plan")] == ["completed"]


def test_closing_stops_what_is_planned_and_leaves_nothing(roots, gate):
    roots.push_files({"tidegate.yaml": gated(gate)})
    pull, _ = open_pull(roots, {"db": thing("two")})
    layer, record = planning(pull, "db"), pull.record
    roots.tidegate.maintainer.edit_pull_request(roots.name, pull.number, state="closed")
    eventually(lambda: not pull.record.is_open, what="the record to be closed")
    assert (pull.layers(), pull.ending(record)) == ({}, "ABORTED")
    eventually(lambda: not roots.tidegate.runners(layer.job), what="the runner to stop")
    with pytest.raises(NotFound):
        pull.tidegate.temporary_layers.get(layer.id)
