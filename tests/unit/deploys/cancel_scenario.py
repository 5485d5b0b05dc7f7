"""Where deployments are cancelled: waiting, planning and applying."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, amended, any_job, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.cancel_deployment import cancel_deployment
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Gate

LATER = utc("2026-03-02T10:00")
RUNNER = "arn:aws:ecs:eu-central-1:1:task/tidegate/1"


class CancelScenario(Scenario):
    """A scenario in which deployments are cancelled."""

    def cancel(self, deployment, by="reviewer", at=LATER, *, is_apply=False, **ports):
        """Cancel a deployment, with some other ports."""
        return cancel_deployment(changed(self.ports, **ports), deployment.id, by, at, is_apply=is_apply)

    def job(self, deployment, kind, *, taken):
        """Give a deployment in flight a job that is handed over, with the token ``job``."""
        job = any_job(kind, id=job_id(deployment.id, kind, 1), deployment=deployment.id)
        self.jobs.create(job)
        self.jobs.hand_over(job.id, "job", "clone")
        self.workflows.waiting.add("job")
        if taken:
            self.jobs.take(job.id, RUNNER)
        return job.id

    def planning(self, *, taken=True):
        deployment = self.in_flight(deployment_in(State.PLANNING))
        job = self.job(deployment, JobKind.PLAN, taken=taken)
        return self.deployments.save(amended(deployment, plan_job=job))

    def applying(self, *, taken=True):
        deployment = self.in_flight(deployment_in(State.APPLYING))
        self.job(deployment, JobKind.APPLY, taken=taken)
        return deployment

    def reviewed(self):
        deployment = self.in_flight(deployment_in(State.AWAITING_REVIEW))
        self.deployments.keep_review_token(deployment.id, deployment.review.id, "review")
        self.workflows.waiting.add("review")
        return deployment

    def gated(self, state=State.GATED):
        deployment = self.in_flight(deployment_in(state, gate=Gate("gate-1", NOW)))
        self.deployments.keep_gate_token(deployment.id, "gate-1", "gate")
        self.workflows.waiting.add("gate")
        return deployment

    def in_flight(self, deployment):
        self.queues.enqueue(replace(deployment, state=State.QUEUED))
        head, first = self.queues.read(deployment.queue)
        self.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
        stored = self.deployments.get(deployment.id)
        return self.deployments.save(replace(deployment, version=stored.version))

    def now(self, deployment):
        return self.deployments.get(deployment.id)
