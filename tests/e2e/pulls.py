"""Pull requests of a project, and what Tidegate knows and shows of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.e2e.deadlines import eventually
from tests.e2e.project import Project
from tests.stepfunctions.scenario import OperatorPorts
from tidegate.deploys.rules.speculative_plan import LayerState, SpeculativePlan
from tidegate.pull_requests.rules.record import PullRequestRecord, PullRequestState
from tidegate.rules.errors import NotFound


@dataclass
class Pull:
    """A pull request, and what Tidegate knows of it."""

    project: Project
    number: int

    @cached_property
    def tidegate(self) -> OperatorPorts:
        return OperatorPorts(self.project.tidegate.cloud)

    @property
    def record(self) -> PullRequestRecord | None:
        try:
            return self.tidegate.pull_requests.get(self.project.name, self.number)
        except NotFound:
            return None

    def layers(self) -> dict[str, SpeculativePlan]:
        """Return the layers of the revision that was discovered last, by their roots."""
        record = self.record
        found = self.tidegate.speculative_plans.many(record.layers) if record else ()
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

    def comments(self) -> list[dict[str, Any]]:
        """Return the comments that Tidegate wrote, oldest first."""
        found = self.project.tidegate.maintainer.comments(self.project.name, self.number)
        return [one for one in found if one["user"]["type"] == "Bot"]

    def shown(self, head: str, count: int = 1) -> list[dict[str, Any]]:
        """Return the comments once all of them show a head; there are so many."""

        def look() -> list[dict[str, Any]] | None:
            found = self.comments()
            return found if len(found) >= count and all(f"`{head[:7]}`" in one["body"] for one in found) else None

        try:
            found = eventually(look, what=f"{count} comments about {head[:7]}")
        except AssertionError as late:
            late.add_note(self.project.tidegate.story())
            raise
        assert len(found) == count
        return found

    def ended(self, head: str, name: str = "tidegate/plan") -> dict[str, Any]:
        """Return the newest check run of a name on a head once it has ended."""

        def look() -> Any:
            runs = self.project.check_runs(head, name)
            return runs[0] if runs and runs[0]["status"] == "completed" else None

        return eventually(look, what=f"the end of {name}")

    def close(self) -> None:
        self.project.tidegate.maintainer.edit_pull_request(self.project.name, self.number, state="closed")


def open_pull(project: Project, changes: dict[str, str], branch: str = "feature") -> tuple[Pull, str]:
    """Open a pull request that changes roots (directory → content); return it and its head."""
    head = edit(project, changes, branch, base="main")
    return Pull(project, project.tidegate.maintainer.open_pull_request(project.name, branch, title="Change")), head


def edit(project: Project, changes: dict[str, str], branch: str = "feature", **where: str) -> str:
    """Push roots to a pull request's branch; return its head."""
    files = {f"{root}/main.tf": project.backed(root, content) for root, content in changes.items()}
    return project.push_files(files, "Change roots", branch=branch, **where)


def gated(gate: Path, query: str = "dir:db") -> str:
    """Return what lets each plan of ``db``, or what a query means, wait until a file is there: a tidegate.yaml."""
    wait = f"while [ ! -e '{gate}' ]; do sleep 0.1; done"
    return f"""workflows:
  - tag_query: '{query}'
    plan:
      - type: init
      - type: run
        cmd: [sh, -c, "{wait}"]
      - type: plan
"""


def planning(pull: Pull, root: str) -> SpeculativePlan:
    """Return the layer of a root once its runner works on its plan."""

    def look() -> SpeculativePlan | None:
        layer = pull.layers().get(root)
        at_work = layer is not None and layer.job and pull.project.tidegate.runners(layer.job)
        return layer if at_work and pull.tidegate.jobs.token(layer.job) else None

    return eventually(look, what=f"a runner that plans {root}")


@dataclass(frozen=True)
class Branch:
    """A pull request as people talk to Tidegate in it: its number, its head, their comments and the replies."""

    project: Project
    number: int
    head: str

    def comment(self, text: str, by: str = "maintainer") -> int:
        return self.project.person(by).comment(self.project.name, self.number, text)

    def reply(self, containing: str) -> str:
        """Return Tidegate's reply with these words, once it is there."""

        def look() -> str | None:
            said = self.project.tidegate.maintainer.comments(self.project.name, self.number)
            bodies = [str(each["body"]) for each in said if each["user"]["type"] == "Bot"]
            return next((body for body in bodies if containing in body), None)

        return eventually(look, what=f"a reply with {containing!r}")
