"""A merge that waits for what its root requires."""

from __future__ import annotations

from tests.builders import NOW, deployment_in, sha
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.rules.deployment import State
from tidegate.gates.decide_gate import GateDecider
from tidegate.gates.decide_requirements import RequirementsDecider
from tidegate.gates.judge_gate import GateJudge
from tidegate.gates.wait_for_requirements import RequirementsGate
from tidegate.jobs.begin_job import JobBeginner
from tidegate.messages import BeginJob, WaitForRequirements
from tidegate.policies.rules.requirements import Requirements
from tidegate.vcs.rules.push import Pushed

ONE = Requirements(approvals=1, any_of=("team:sre",))
AT = "2026-03-02T09:00:00.000000+00:00"


class Waiting(World):
    """A merge that came with no pull request, approved by its review rule, of a root that requires an approval."""

    def __post_init__(self):
        super().__post_init__()
        self.forge.writers |= {"ann", "eve"}
        self.forge.teams = {"acme/sre": {"ann", "author", "maintainer"}}
        self.forge.came_with = {sha(1): ()}
        self.gate = RequirementsGate(
            self.deployments, self.requirements, self.workflows, self.announcements, self.clock
        )
        decider = RequirementsDecider(
            self.deployments, self.requirements, self.workflows, self.announcements, self.audit
        )
        nobody = lambda *_: None  # noqa: E731
        self.decider = GateDecider(
            self.deployments, self.change_sets, self.workflows, self.announcements, nobody, nobody, decider
        )
        pushed = (Pushed(sha(1), sha(1), "main"),)
        approved = deployment_in(State.APPROVED, requires=(ONE,), pushed=pushed, authors=("author",))
        self.id = self.put(approved).id

    def begin(self):
        judge = GateJudge(self.deployments, self.change_sets)
        ports = self.jobs, self.forge, self.audit, self.announcements, self.clock
        beginner = JobBeginner(self.deployments, *ports, judge, [].append, self.requirements, self.branches, self.slots)
        return beginner.begin(BeginJob(deployment=self.id, phase="apply", attempt=1))

    def wait(self, token="token", entered=NOW, before=0):
        self.workflows.waiting.add(token)
        self.gate.wait(WaitForRequirements(deployment=self.id, token=token, entered=entered, before=before))

    def decide(self, answer, by="ann", at=AT, reason=""):
        return self.decider.decide(self.id, answer, by, at, reason)

    @property
    def now(self):
        return self.deployments.get(self.id)

    @property
    def settled(self):
        return [answer["next"] for answer in self.workflows.settled.values()]
