"""A change of several stacks in memory, whose deployments wait for each other."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from tests.builders import NOW, amended, any_plan, any_root, deployment_in
from tests.contract.queue_actors import Fate, Mortal
from tests.fakes import MemoryForge
from tests.fakes.ports import changed
from tests.unit.gates.retries import DefaultBranch, RetriesAtOnce
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.timeline import Step
from tidegate.gates.open_gates import open_gates
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.messages import WaitAtGate
from tidegate.ports import Enrolled
from tidegate.roots.rules.root import deployment_id

CHANGE = "change-1"
AFTER_DEV = Waits(apply_after=("dev",))
AFTER_NETWORK = Waits(roots=("network",))


#: What use cases may die at.
MORTAL = ("queues", "deployments", "change_sets", "workflows", "event_publisher")


class GateScenario(Scenario):
    """Roots of the stacks ``dev`` and ``prod`` of one change; use cases die at the call that ``fate`` names."""

    def __init__(self):
        self.fate, self.branch = Fate(), DefaultBranch(self)
        forge = MemoryForge(writers={"reviewer", "maintainer", "developer"}, branches={"main": "f" * 40})
        super().__init__(forge=forge, history=self.branch, events=RetriesAtOnce(self))
        for name in MORTAL:  # What tests read and set does not die.
            setattr(self, name, getattr(self.ports, name))
        self.ports = changed(self.ports, **{name: Mortal(getattr(self, name), self.fate) for name in MORTAL})

    def member(self, root: str, stack: str, state: State = State.QUEUED, number: int = 1, **fields) -> Deployment:
        """Store a deployment in flight of the change, and enroll it."""
        name = any_root(name=root, dir=root)
        deployment = deployment_in(state, number, root=name, stack=stack, change_set=CHANGE)
        request = f"{deployment.request.trigger} {stack} {fields.get('rerun_of', '')}"
        deployment = replace(deployment, id=deployment_id(deployment.repository, root, f"{number:040x}", request))
        if deployment.planned.plan is not None:
            job = job_id(deployment.id, JobKind.PLAN, 1)
            deployment = replace(deployment, planned=replace(deployment.planned, plan=any_plan(job=job), job=job))
        deployment = amended(deployment, **{"history": (Step(State.PLANNING, NOW),), **fields})
        self.claim(deployment)
        self.enroll(root, stack, deployment.id, deployment.request.at)
        return deployment

    def enroll(self, root: str, stack: str, deployment: str, requested_at: datetime = NOW) -> None:
        self.change_sets.enroll(CHANGE, [Enrolled(root, stack, deployment, requested_at)])

    def claim(self, deployment: Deployment) -> None:
        """Enqueue a deployment and take it out of the line at once, as it is."""
        self.queues.enqueue(replace(deployment, state=State.QUEUED))
        head, first = self.queues.read(deployment.queue)
        self.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
        self.deployments.save(replace(deployment, version=self.deployments.get(deployment.id).version))

    def planned(self, root: str = "app", stack: str = "prod", waits: Waits = AFTER_DEV, **fields) -> Deployment:
        """A member whose plan is recorded, and that waits for a stack next."""
        deployment = self.member(root, stack, waits=waits, **fields)
        job = job_id(deployment.id, JobKind.PLAN, 1)
        return self.change(deployment, state=State.PLANNING, plan=any_plan(job=job), plan_job=job)

    def validated(self, root: str = "app", stack: str = "prod", waits: Waits = AFTER_NETWORK, **fields) -> Deployment:
        """A member that is let in, and waits for what it depends on next."""
        return self.member(root, stack, State.PLANNING, waits=waits, **fields)

    def change(self, deployment: Deployment, **fields) -> Deployment:
        return self.deployments.save(amended(self.deployments.get(deployment.id), **fields))

    def ends(self, deployment: Deployment, state: State) -> Deployment:
        """Let a deployment end, and have the change's gates looked at."""
        at = self.clock.now()
        steps = (*self.deployments.get(deployment.id).history, Step(state, at))
        ended = self.change(deployment, state=state, changed_at=at, history=steps)
        self.look()
        return ended

    def look(self) -> int:
        """Look at the change's gates until nobody asks for it any more."""
        changed, asks = open_gates(self.ports, CHANGE), self.event_publisher.moved
        while asks:
            asks.clear()
            changed += open_gates(self.ports, CHANGE)
        return changed

    def waits(self, deployment: Deployment, token: str = "token") -> Deployment:
        """Let the machine wait at the gate that the deployment has come to."""
        self.workflows.waiting.add(token)
        plan = self.deployments.get(deployment.id).planned.plan
        wait_at_gate(self.ports, WaitAtGate(deployment=deployment.id, token=token, job=plan.job if plan else None))
        return self.now(deployment)

    def now(self, deployment: Deployment) -> Deployment:
        return self.deployments.get(deployment.id)

    def newer(self, of: Deployment, trigger: Trigger = Trigger.MERGE, number: int = 2) -> Deployment:
        """Enqueue the deployment of a newer revision of the same root and stack."""
        newer = deployment_in(State.QUEUED, number, root=of.root, stack=of.stack, trigger=trigger)
        self.queues.enqueue(newer)
        return newer

    @property
    def answers(self) -> dict[str, str]:
        """What tokens were answered with."""
        return {token: answer["next"] for token, answer in self.workflows.settled.items()}
