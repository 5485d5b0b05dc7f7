"""Where people press *Re-run* on check runs, one or all of a commit."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_deployment, any_root, deployment_in
from tests.fakes import MemoryDeliveries
from tests.unit.usecases.shown_check_runs import publisher_of
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.authorize import Authorizer
from tidegate.deploys.queue.enqueue import Enqueuer
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.rules.deployment import State, Trigger
from tidegate.deploys.rules.queue import Deployed
from tidegate.ports import Delivery
from tidegate.requests.rerun import RerunRequester

FAILED = [
    State.PLAN_FAILED,
    State.APPLY_FAILED,
    State.REJECTED,
    State.REVIEW_EXPIRED,
    State.OUTCOME_UNKNOWN,
    State.ENGINE_FAULT,
]

EARLIER = "2026-03-02T07:00:00.000000+00:00"


class RerunWorld(World):
    """A world with deployments that ended and are shown; their roots' latest attempts are these."""

    def __init__(self):
        super().__init__()
        self.deliveries = MemoryDeliveries()
        self.numbers = {}
        self.sent = []
        self.demands = 0
        self.rules = {}

    def ended(self, state, root="network", *, attempted=True, **fields):
        """Put a deployment whose check run is shown; return it."""
        named = {"id": f"{root}-1", "root": replace(any_root(), name=root)}
        deployment = self.put(deployment_in(state, **{**named, **fields}))
        if attempted:
            self.attempt(deployment)
        publisher_of(self).publish(deployment.id, again=True)
        self.numbers[deployment.id] = self.check_runs.published(deployment.id).id
        return deployment

    def attempt(self, deployment, /, **fields):
        head, _ = self.queues.read(deployment.queue)
        latest = Deployed(deployment.id, deployment.revision, deployment.state, deployment.trigger)
        self.queues.commit(head, replace(head, attempted=replace(latest, **fields)))

    def requester(self):
        workers = WorkerEnsurer(self.queues, self.workflows)
        enqueuer = Enqueuer(self.queues, self.deployments, self.audit, self.announcements, workers)
        return RerunRequester(
            self.deliveries,
            self.queues,
            self.deployments,
            self.change_sets,
            self.check_runs,
            self.forge,
            self.announcements,
            Authorizer(self.forge, self.queues, self.deployments),
            self.under,
            enqueuer.enqueue,
            self.sent.append,
        )

    def under(self, _where, again):
        """Return deployments with what holds now for their roots, by their names, or why none is run."""
        now = {each.id: self.rules.get(each.root.name, {}) for each in again}
        return {each.id: rule if isinstance(rule := now[each.id], str) else replace(each, **rule) for each in again}

    def show_answers(self):
        """Show why demands had no effect, as the check-run queue does."""
        publisher = publisher_of(self)
        for deployment, why in self.announcements.answers:
            publisher.publish(deployment, again=True, answer=why)
        self.announcements.answers.clear()

    def demand(self, event, fields, delivery=None):
        self.demands += delivery is None
        stored = Delivery(delivery or f"demand-{self.demands}", event, fields, NOW)
        self.deliveries.store(stored)
        return stored

    def check(self, deployment, by="reviewer", delivery=None, **fields):
        """Ask for one check to run again; return what became of it."""
        asked = {
            "repository": deployment.repository,
            "installation": deployment.installation,
            "id": self.numbers.get(deployment.id, 1),
            "name": f"tidegate/deploy: {deployment.root.name}",
            "external_id": deployment.id,
            "head_sha": deployment.revision.sha,
            "sender": by,
        }
        outcome = self.requester().receive_check(self.demand("rerun", {**asked, **fields}, delivery))
        self.show_answers()
        return outcome

    def suite(self, revision, by="reviewer", pull_requests=()):
        """Ask for all checks of a commit to run again; return what became of it."""
        deployment = any_deployment()
        where = {"repository": deployment.repository, "installation": deployment.installation}
        asked = {**where, "head_sha": revision, "sender": by, "pull_requests": list(pull_requests)}
        outcome = self.requester().receive_suite(self.demand("check_suite", asked))
        self.show_answers()
        return outcome

    def shown(self, deployment):
        run = self.forge.check_runs[self.numbers[deployment.id]]
        return f"{run.title}\n{run.summary}\n{run.text}"

    @property
    def reruns(self):
        return [each for each in self.deployments.all() if each.trigger is Trigger.RERUN]
