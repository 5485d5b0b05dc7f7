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


def test_what_a_pull_request_changes_is_planned_and_nothing_is_touched(roots):
    pull, head = open_pull(roots, {"app": thing("two"), "db": thing("one") + '\noutput "now" {\n  value = 1\n}\n'})
    record = pull.at_rest(head)
    layers = pull.layers()
    assert {root: layer.state for root, layer in layers.items()} == {"app": PLANNED, "db": PLANNED}
    assert [layer.plan.changes.add for layer in layers.values()] == [1, 1]
    assert roots.state("app") is None
    assert "tidegate/deploy: app" not in roots.names(head)
    eventually(lambda: pull.ending(record) == "SUCCEEDED", what="the end of its execution")
