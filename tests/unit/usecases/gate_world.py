"""A change of several stacks in memory, whose deployments wait for each other."""

from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, any_plan, any_root, deployment_in
from tests.contract.queue_actors import Fate, Mortal
from tests.unit.usecases.retries import at_once, retrying
from tests.unit.usecases.terraform_world import World
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.queue.enqueue import Enqueuer
from tidegate.deploys.queue.ensure_worker import WorkerEnsurer
from tidegate.deploys.rules.deployment import Deployment, State, Step, Trigger
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.gates.apply_requirements import ApplyRequirements
from tidegate.gates.decide_gate import GateDecider
from tidegate.gates.decide_requirements import RequirementsDecider
from tidegate.gates.open_gates import GateOpener
from tidegate.gates.wait_at_gate import GateWaiter
from tidegate.messages import WaitAtGate
from tidegate.ports import Enrolled
from tidegate.roots.rules.root import deployment_id
from tidegate.rules.decision import Decision

CHANGE = "change-1"
AFTER_DEV = Waits(apply_after=("dev",))
AFTER_NETWORK = Waits(roots=("network",))


class GateWorld(World):
    """Roots of the stacks ``dev`` and ``prod`` of one change; use cases die at the call that ``fate`` names."""

    def __post_init__(self):
        super().__post_init__()
        self.fate = Fate()
        self.refused: set[str] = set()
        queues, deployments, changes, workflows, told = (
            Mortal(port, self.fate)
            for port in (self.queues, self.deployments, self.change_sets, self.workflows, self.announcements)
        )
        enqueuer = Enqueuer(queues, deployments, self.audit, told, WorkerEnsurer(queues, workflows))
        self.waiter = GateWaiter(deployments, changes, workflows, told, self.clock)
        self.opener = GateOpener(queues, deployments, changes, workflows, told, self.clock, enqueuer.enqueue)
        required = ApplyRequirements(self.forge, self.pull_requests)
        requirements = RequirementsDecider(deployments, required, workflows, told, self.audit)
        self.rules: dict[str, dict[str, object] | str] = {}
        self.forge.writers |= {"reviewer", "maintainer", "developer"}
        self.retrier = retrying(deployments, changes, self.forge, told, enqueuer.enqueue, queues, self.under)
        retry = at_once(self.retrier)
        self.decider = GateDecider(deployments, changes, workflows, told, retry, self.may_apply, requirements)

    def under(self, _where, again):
        """Return deployments with what holds now for their roots, by their names, or why none is run."""
        now = {each.id: self.rules.get(each.root.name, {}) for each in again}
        return {each.id: rule if isinstance(rule := now[each.id], str) else replace(each, **rule) for each in again}

    def may_apply(self, deployment: Deployment, login: str) -> Decision:
        reason = f"{login} may not apply {deployment.root.name}."
        return Decision(f"{login} {deployment.root.name}" not in self.refused, reason)

    def member(self, root: str, stack: str, state: State = State.QUEUED, number: int = 1, **fields) -> Deployment:
        """Store a deployment in flight of the change, and enroll it."""
        name = any_root(name=root)
        deployment = deployment_in(state, number, root=name, stack=stack, change_set=CHANGE)
        request = f"{deployment.trigger} {stack} {fields.get('rerun_of', '')}"
        deployment = replace(deployment, id=deployment_id(deployment.repository, root, f"{number:040x}", request))
        if deployment.plan is not None:
            job = job_id(deployment.id, JobKind.PLAN, 1)
            deployment = replace(deployment, plan=any_plan(job=job), plan_job=job)
        deployment = replace(deployment, **{"history": (Step(State.PLANNING, NOW),), **fields})
        self.claim(deployment)
        self.enroll(root, stack, deployment.id, deployment.requested_at)
        return deployment

    def enroll(self, root: str, stack: str, deployment: str, requested_at: str = NOW) -> None:
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
        return self.deployments.save(replace(self.deployments.get(deployment.id), **fields))

    def ends(self, deployment: Deployment, state: State) -> Deployment:
        """Let a deployment end, and have the change's gates looked at."""
        at = self.clock.now()
        steps = (*self.deployments.get(deployment.id).history, Step(state, at))
        ended = self.change(deployment, state=state, changed_at=at, history=steps)
        self.look()
        return ended

    def look(self) -> int:
        """Look at the change's gates until nobody asks for it any more."""
        changed, asks = self.opener.open(CHANGE), self.announcements.moved
        while asks:
            asks.clear()
            changed += self.opener.open(CHANGE)
        return changed

    def waits(self, deployment: Deployment, token: str = "token") -> Deployment:
        """Let the machine wait at the gate that the deployment has come to."""
        self.workflows.waiting.add(token)
        plan = self.deployments.get(deployment.id).plan
        self.waiter.wait(WaitAtGate(deployment=deployment.id, token=token, job=plan.job if plan else None))
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
