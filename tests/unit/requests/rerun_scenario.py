"""Where people click *Re-run* on check runs, one or all of a commit."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_deployment, any_root, deployment_in
from tests.fakes import MemoryForge
from tests.instants import utc
from tests.unit.check_runs.shown_check_runs import publish
from tests.unit.gates.retries import DefaultBranch
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.rules.queue import Deployed
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.ports import Delivery
from tidegate.requests.rerun import rerun_check, rerun_suite

FAILED = [
    State.PLAN_FAILED,
    State.APPLY_FAILED,
    State.REJECTED,
    State.REVIEW_EXPIRED,
    State.OUTCOME_UNKNOWN,
    State.ENGINE_FAULT,
]

EARLIER = utc("2026-03-02T07:00")

#: Every root is in each of these stacks.
STACKS = """\
stacks:
  allow_workspace_in_multiple_stacks: true
  names: {default: {tag_query: ''}, a: {tag_query: ''}, b: {tag_query: ''}, dev: {tag_query: ''}, prod: {tag_query: ''}}
"""


class RerunScenario(Scenario):
    """A scenario with deployments that ended and are shown; their roots' latest attempts are these."""

    def __init__(self):
        self.branch = DefaultBranch(self, STACKS)
        forge = MemoryForge(writers={"reviewer", "maintainer"}, branches={"main": "f" * 40})
        super().__init__(forge=forge, history=self.branch)
        self.numbers = {}
        self.demands = 0

    def ended(self, state, root="network", *, attempted=True, **fields):
        """Put a deployment whose check run is shown; return it."""
        named = {"id": f"{root}-1", "root": any_root(name=root, dir=root)}
        deployment = self.put(deployment_in(state, **{**named, **fields}))
        if attempted:
            self.attempt(deployment)
        publish(self, deployment, again=True)
        self.numbers[deployment.id] = self.check_runs.published(deployment.id).id
        return deployment

    def attempt(self, deployment, /, **fields):
        head, _ = self.queues.read(deployment.queue)
        latest = Deployed(deployment.id, deployment.revision, deployment.state, deployment.request.trigger)
        self.queues.commit(head, replace(head, attempted=replace(latest, **fields)))

    def show_answers(self):
        """Show why demands had no effect, as the check-run queue does."""
        for deployment, why in self.event_publisher.answers:
            publish_check_run(self.ports, deployment, again=True, answer=why)
        self.event_publisher.answers.clear()

    def demand(self, event, fields, delivery=None):
        self.demands += delivery is None
        stored = Delivery(delivery or f"demand-{self.demands}", event, fields, NOW)
        self.deliveries.store(stored)
        return stored

    def check(self, deployment, by="reviewer", delivery=None, **fields):
        """Ask for one check to run again; return what became of it."""
        asked = {
            "repository": deployment.repository,
            "id": self.numbers.get(deployment.id, 1),
            "name": f"tidegate/deploy: {deployment.root.name}",
            "external_id": deployment.id,
            "head_sha": deployment.revision.sha,
            "sender": by,
        }
        outcome = rerun_check(self.ports, self.demand("rerun", {**asked, **fields}, delivery))
        self.show_answers()
        return outcome

    def suite(self, revision, by="reviewer", pull_requests=()):
        """Ask for all checks of a commit to run again; return what became of it."""
        deployment = any_deployment()
        where = {"repository": deployment.repository}
        asked = {**where, "head_sha": revision, "sender": by, "pull_requests": list(pull_requests)}
        outcome = rerun_suite(self.ports, self.demand("check_suite", asked))
        self.show_answers()
        return outcome

    def shown(self, deployment):
        run = self.forge.check_runs[self.numbers[deployment.id]]
        return f"{run.title}\n{run.summary}\n{run.text}"

    @property
    def reruns(self):
        return [each for each in self.deployments.all() if each.request.trigger is Trigger.RERUN]
