"""A merge that waits for what its root requires."""

from __future__ import annotations

from tests.builders import NOW, deployment_in, sha
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import decide_gate
from tidegate.gates.wait_for_requirements import wait_for_requirements
from tidegate.jobs.begin_job import begin_job
from tidegate.messages import BeginJob, WaitForRequirements
from tidegate.policies.rules.requirements import Requirements
from tidegate.vcs.rules.push import Pushed

ONE = Requirements(approvals=1, any_of=("team:sre",))
AT = utc("2026-03-02T09:00")


class Waiting(Scenario):
    """A merge that came with no pull request, approved by its review rule, of a root that requires an approval."""

    def __init__(self):
        super().__init__()
        self.forge.writers |= {"ann", "eve"}
        self.forge.teams = {"acme/sre": {"ann", "author", "maintainer"}}
        self.forge.came_with = {sha(1): ()}
        pushed = (Pushed(sha(1), sha(1), "main"),)
        approved = deployment_in(State.APPROVED, requires=(ONE,), pushed=pushed, authors=("author",))
        self.id = self.put(approved).id

    def begin(self):
        return begin_job(self.ports, BeginJob(deployment=self.id, phase="apply", attempt=1))

    def wait(self, token="token", entered=NOW, before=0):
        self.workflows.waiting.add(token)
        message = WaitForRequirements(deployment=self.id, token=token, entered=entered, before=before)
        wait_for_requirements(self.ports, message)

    def decide(self, answer, by="ann", at=AT, reason=""):
        return decide_gate(self.ports, self.id, answer, by, at, reason)

    @property
    def now(self):
        return self.deployments.get(self.id)

    @property
    def settled(self):
        return [answer["next"] for answer in self.workflows.settled.values()]
