"""Where buttons of check runs are clicked."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_root, deployment_in
from tests.fakes import MemoryForge
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.check_runs.shown_check_runs import publish
from tests.unit.gates.retries import DefaultBranch, RetriesAtOnce
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.rules.queue_snapshot import Shown, Standing
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate
from tidegate.ports import Enrolled
from tidegate.requests.answer_button import ButtonClick, answer_button
from tidegate.vcs.rules.check_run import Button

LATER = utc("2026-03-02T10:00")
ANSWERS = {Button.APPROVE: Answer.APPROVE, Button.REJECT: Answer.REJECT}


class PressedScenario(Scenario):
    """A scenario with a deployment whose check run, number 1, is clicked."""

    def __init__(self, state=State.AWAITING_REVIEW, lock=None, **fields):
        forge = MemoryForge(writers={"reviewer", "maintainer"}, branches={"main": "f" * 40})
        super().__init__(forge=forge, history=DefaultBranch(self), events=RetriesAtOnce(self))
        self.deployment = self.put(deployment_in(state, **fields))
        if lock is not None:
            self.lock(lock)
        self.publish()
        if self.deployment.review:
            self.deployments.keep_review_token(self.deployment.id, self.deployment.review.id, "token")
            self.workflows.waiting.add("token")

    def publish(self):
        publish(self, self.deployment, again=True)

    def lock(self, lock):
        self.queues.commit(self.head, replace(self.head, lock=lock))
        if self.deployment.state is State.QUEUED:
            shown = Shown(Standing(1, lock=lock), NOW, asked=True)
            self.boards.write(self.deployment.queue, {self.deployment.id: shown}, ())

    def click(self, identifier=Button.APPROVE, by="reviewer", at=LATER, deployments=None, **fields):
        click = ButtonClick(
            repository=self.deployment.repository,
            check_run=1,
            name="tidegate/deploy: network",
            sha=self.deployment.revision.sha,
            external_id=self.deployment.id,
            identifier=identifier,
            by=by,
            at=at,
        )
        ports = changed(self.ports, deployments=deployments) if deployments else self.ports
        outcome = answer_button(ports, replace(click, **fields))
        self.show_answers()
        return outcome

    def show_answers(self):
        """Show why clicks had no effect, as the check-run queue does."""
        for deployment, why in self.event_publisher.answers:
            publish_check_run(self.ports, deployment, again=True, answer=why)
        self.event_publisher.answers.clear()

    @property
    def now(self):
        return self.deployments.get(self.deployment.id)

    @property
    def head(self):
        return self.queues.read(self.deployment.queue)[0]

    @property
    def shown(self):
        return self.forge.check_runs[1]


class GateScenario(PressedScenario):
    """A scenario with a deployment of stack ``prod`` that waits for ``dev``, whose plan failed."""

    def __init__(self, state=State.BLOCKED, **fields):
        super().__init__(state, gate=Gate("network-plan-1", NOW), **fields)
        self.deployments.keep_gate_token(self.deployment.id, "network-plan-1", "gate")
        self.workflows.waiting.add("gate")
        failed = deployment_in(State.PLAN_FAILED, id="app-1", root=any_root(name="app", dir="app"), stack="dev")
        self.failed = self.put(replace(failed, change=replace(failed.change, id="change-1")))
        self.change_sets.enroll("change-1", [Enrolled("app", "dev", failed.id, failed.request.at)])

    @property
    def waiting(self):
        return [each.deployment for each in self.queues.waiting(self.failed.queue)]
