"""Where buttons of check runs are pressed."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_root, deployment_in
from tests.fakes.pull_requests import MemoryPullRequests
from tests.slots import no_token
from tests.unit.usecases.retries import at_once, retrying
from tests.unit.usecases.shown_check_runs import publisher_of
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.jobs.cancel_deployment import DeploymentCanceller
from tidegate.deploys.jobs.check_branch import BranchCheck
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.queue.end_deployment import DeploymentEnder
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.reviews.decide_review import ReviewDecider
from tidegate.deploys.rules.deployment import Gate, State
from tidegate.deploys.rules.line import Shown, Standing
from tidegate.deploys.rules.review import Answer
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.decide_gate import GateDecider
from tidegate.gates.decide_requirements import RequirementsDecider
from tidegate.ports import Enrolled
from tidegate.requests.answer_button import ButtonAnswerer, Press
from tidegate.requests.unlock import QueueUnlocker
from tidegate.rules.decision import Decision
from tidegate.vcs.rules.check_run import Button

LATER = "2026-03-02T10:00:00.000000+00:00"
ANSWERS = {Button.CONFIRM: Answer.APPROVE, Button.REJECT: Answer.REJECT}


class PressedWorld(World):
    """A world with a deployment whose check run, number 1, is pressed."""

    def __init__(self, state=State.AWAITING_REVIEW, lock=None, **fields):
        super().__init__()
        self.deployment = self.put(deployment_in(state, **fields))
        if lock is not None:
            self.lock(lock)
        self.publish()
        if self.deployment.review:
            self.deployments.keep_review_token(self.deployment.id, self.deployment.review.id, "token")
            self.workflows.waiting.add("token")

    def publish(self):
        publisher_of(self).publish(self.deployment.id, again=True)

    def lock(self, lock):
        self.queues.commit(self.head, replace(self.head, lock=lock))
        if self.deployment.state is State.QUEUED:
            shown = Shown(Standing(1, lock=lock), NOW, asked=True)
            self.boards.write(self.deployment.queue, {self.deployment.id: shown}, ())

    def press(self, identifier=Button.CONFIRM, by="reviewer", at=LATER, deployments=None, **fields):
        records = deployments or self.deployments
        finisher = Finisher(records, self.jobs, self.audit)
        workers = WorkerEnsurer(self.queues, self.workflows)
        retry = retrying(records, self.change_sets, self.forge, self.announcements, self.queues.enqueue, self.queues)
        answerer = ButtonAnswerer(
            records,
            self.check_runs,
            self.forge,
            self.announcements,
            Authorizer(self.forge, self.queues, records).may,
            ReviewDecider(
                records, self.workflows, self.announcements, finisher, self.artifacts, BranchCheck(self.forge)
            ).decide,
            GateDecider(
                records,
                self.change_sets,
                self.workflows,
                self.announcements,
                at_once(retry),
                lambda _deployment, _login: Decision(True, ""),
                RequirementsDecider(
                    records,
                    ApplyRequirements(self.forge, MemoryPullRequests()),
                    self.workflows,
                    self.announcements,
                    self.audit,
                ),
            ).decide,
            QueueUnlocker(self.queues, records, self.audit, self.announcements, workers).unlock,
            self._canceller(records, finisher).cancel,
        )
        press = Press(
            repository=self.deployment.repository,
            installation=self.deployment.installation,
            check_run=1,
            name="tidegate/deploy: network",
            sha=self.deployment.revision.sha,
            external_id=self.deployment.id,
            identifier=identifier,
            by=by,
            at=at,
        )
        outcome = answerer.answer(replace(press, **fields))
        self.show_answers()
        return outcome

    def _canceller(self, records, finisher):
        ender = DeploymentEnder(self.queues, self.jobs, finisher, self.announcements, self.clock)
        ports = self.jobs, self.runners, self.workflows, self.announcements, self.audit
        return DeploymentCanceller(self.queues, records, *ports, finisher, ender.announce, no_token)

    def show_answers(self):
        """Show why presses had no effect, as the check-run queue does."""
        publisher = publisher_of(self)
        for deployment, why in self.announcements.answers:
            publisher.publish(deployment, again=True, answer=why)
        self.announcements.answers.clear()

    @property
    def now(self):
        return self.deployments.get(self.deployment.id)

    @property
    def head(self):
        return self.queues.read(self.deployment.queue)[0]

    @property
    def shown(self):
        return self.forge.check_runs[1]


class GateWorld(PressedWorld):
    """A world with a deployment of stack ``prod`` that waits for ``dev``, whose plan failed."""

    def __init__(self, state=State.BLOCKED, **fields):
        super().__init__(state, gate=Gate("network-plan-1", NOW), **fields)
        self.deployments.keep_gate_token(self.deployment.id, "network-plan-1", "gate")
        self.workflows.waiting.add("gate")
        failed = deployment_in(State.PLAN_FAILED, id="app-1", root=any_root(name="app"), stack="dev")
        self.failed = self.put(replace(failed, change_set="change-1"))
        self.change_sets.enroll("change-1", [Enrolled("app", "dev", failed.id, failed.requested_at)])

    @property
    def waiting(self):
        return [each.deployment for each in self.queues.waiting(self.failed.queue)]
