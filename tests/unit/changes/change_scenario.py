"""Changes of several stacks in memory, from merge to apply: queues with their workers, executions, people, the forge.

Whoever acts may die at any call to a port; messages come late, twice and in any order between groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta

from tests.builders import NOW, any_deployment, any_plan, any_root
from tests.contract.queue_actors import Died, Fate, Mortal, Revisions
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.changes.change_steps import Execution, Machines, Mail
from tests.unit.gates.retries import DefaultBranch, RetriesAtOnce
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.check_runs.publish_check_run import publish_check_run
from tidegate.deploys.queue.claim_deployment import claim_deployment
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.queue.validate_revision import validate_revision
from tidegate.deploys.queue.wait_for_signal import wait_for_signal
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.reviews.request_review import request_review
from tidegate.deploys.rules.deployment import Deployment
from tidegate.deploys.rules.gate import WAITING, waits_at_some_gate_for
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.overview import is_done
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State, is_final
from tidegate.discovery.new_deployments import enqueue_change
from tidegate.gates.decide_gate import reject_gate, retry_gate
from tidegate.gates.open_gates import open_gates
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.dispatch_job import dispatch_job
from tidegate.jobs.record_plan import record_plan
from tidegate.jobs.record_result import record_result
from tidegate.messages import (
    BeginJob,
    ClaimDeployment,
    DispatchJob,
    RecordOutcome,
    RecordPlan,
    RecordResult,
    RequestReview,
    ValidateRevision,
    WaitAtGate,
    WaitForSignal,
)
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.ports import Enrolled
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.reconciler.settle_gates import settle_gates
from tidegate.roots.rules.root import deployment_id
from tidegate.rules.errors import GateShut
from tidegate.rules.timestamp import LONG_AGO

#: What use cases may die at.
MORTAL = (
    "queues",
    "deployments",
    "jobs",
    "change_sets",
    "workflows",
    "event_publisher",
    "check_runs",
    "forge",
)


class ChangeScenario(Scenario):
    """``changes`` are the merges so far: the deployments of each."""

    def __init__(self):
        self.fate, self.machines, self.mail = Fate(), Machines(), Mail()
        self.unfinished: list[Callable[[], object]] = []
        self.applied: list[str] = []
        self.demands = 0
        self.tokens = 0
        super().__init__(
            forge=Revisions(writers={"reviewer"}, branches={"main": "f" * 40}),
            history=DefaultBranch(self),
            events=RetriesAtOnce(self),
            workflows=self.machines,
            event_publisher=self.mail,
        )
        for name in MORTAL:  # What tests read and set does not die.
            setattr(self, name, getattr(self.ports, name))
        self.ports = changed(self.ports, **{name: Mortal(getattr(self, name), self.fate) for name in MORTAL})

    # People and events. A call that dies is delivered again.

    def deliver(self, call: Callable[[], object]) -> None:
        try:
            call()
        except (Died, ExceptionGroup):
            self.unfinished.append(call)
        finally:
            self.fate.countdown = None

    def merge(self, number: int, members: Sequence[tuple[str, str, Waits]], *, shared: Sequence[str]) -> None:
        change, now = f"change-{number}", self.clock.now()
        made = []
        for place, (name, stack, waits) in enumerate(members):
            root = any_root(name=name, dir=name)
            deployment = any_deployment(
                number, root=root, stack=stack, change_set=change, waits=waits, requested_at=now
            )
            request = f"merge {stack}"
            identifier = deployment_id(deployment.repository, name, deployment.revision.sha, request)
            asked = now + timedelta(microseconds=place)
            made.append(
                replace(deployment, id=identifier, shared=name in shared, request=replace(deployment.request, at=asked))
            )
        self.clock.advance(0.001)
        self.deliver(lambda: enqueue_change(self.ports, made))

    def retry(self, deployment: Deployment) -> None:
        at = self.clock.now()
        self.deliver(lambda: retry_gate(self.ports, deployment.id, "reviewer", at))

    def reject(self, deployment: Deployment) -> None:
        at = self.clock.now()
        self.deliver(lambda: reject_gate(self.ports, deployment.id, "reviewer", at))

    def answer(self, deployment: Deployment, answer: Answer) -> None:
        at = self.clock.now()
        self.deliver(lambda: decide_review(self.ports, deployment.id, answer, "reviewer", at))

    def run_again(self, old: Deployment) -> None:
        """As the button does: what runs again stands for its root, then is in line, then gates are looked at."""
        self.demands += 1
        new = run_again(old, "main", "reviewer", self.clock.now(), f"demand {self.demands}")

        def call() -> None:
            self.change_sets.enroll(new.change.id, [Enrolled(new.root.name, new.stack, new.id, new.request.at)])
            enqueue(self.ports, new)
            self.mail.change_moved(new.change.id)

        self.deliver(call)

    def look(self, index: int) -> None:
        change = self.mail.moved.pop(index % len(self.mail.moved))
        try:
            open_gates(self.ports, change)
        except (Died, ExceptionGroup):
            self.mail.moved.append(change)
        finally:
            self.fate.countdown = None

    def show(self, index: int) -> None:
        """Show what the first message of some group asks for."""
        groups = list(dict.fromkeys(each for each, _ in self.mail.shown))
        group = groups[index % len(groups)]
        message = next(each for each in self.mail.shown if each[0] == group)
        with suppress(Died):
            publish_check_run(self.ports, group, **message[1])
            self.mail.shown.remove(message)
        self.fate.countdown = None

    def reconcile(self) -> None:
        turn = ReconcilerPass(self.clock, utc("9999-12-31"))
        settle_gates(self.ports, turn)
        assert not turn.failures

    # Executions. A task that dies is done again.

    def step(self, execution: Execution, outcome: State) -> None:
        kind = execution.step.replace(" ", "_")
        with suppress(Died):
            getattr(self, f"_{kind}")(execution, outcome)
        self.fate.countdown = None

    def _claim(self, worker, _):
        message = ClaimDeployment(queue=worker.queue, execution=worker.name, rounds=0, started=NOW)
        claimed = claim_deployment(self.ports, message)
        worker.deployment, worker.version = claimed.deployment or "", claimed.version
        worker.step = {"deploy": "validate", "wait": "wait for a signal"}[claimed.step]

    def _wait_for_a_signal(self, worker, _):
        self.tokens += 1
        worker.step, worker.token = "waiting for a signal", f"token-{self.tokens}"
        message = WaitForSignal(queue=worker.queue, execution=worker.name, version=worker.version, token=worker.token)
        try:
            wait_for_signal(self.ports, message)
        except Died:
            if worker.step == "waiting for a signal":
                worker.step = "wait for a signal"
            raise

    def _validate(self, worker, _):
        validated = validate_revision(self.ports, ValidateRevision(queue=worker.queue, deployment=worker.deployment))
        worker.step = "record"
        if validated.allowed:
            first = "gate" if validated.waits else "plan"
            child = Execution(worker.deployment, worker.queue, first, worker.deployment)
            self.machines.children.setdefault(worker.deployment, child)
            worker.step = "child"

    def _child(self, worker, _):
        if self.machines.children[worker.deployment].step == "end":
            worker.step = "record"

    def _record(self, worker, _):
        record_outcome(self.ports, RecordOutcome(queue=worker.queue, deployment=worker.deployment))
        worker.step = "claim"

    def _plan(self, child, _):
        message = BeginJob(deployment=child.deployment, phase="plan", attempt=child.plans + 1)
        child.job = begin_job(self.ports, message).job
        child.plans, child.step, child.came_to = child.plans + 1, "planned", None

    def _planned(self, child, outcome):
        if child.comes_to(outcome) is State.PLAN_FAILED:
            record_result(self.ports, RecordResult(deployment=child.deployment, state="plan_failed"))
            child.step = "end"
            return
        changes = PlannedChanges() if child.came_to is State.NO_CHANGES else PlannedChanges(add=1)
        plan = any_plan(job=child.job, changes=changes)
        recorded = record_plan(self.ports, RecordPlan(deployment=child.deployment, plan=plan))
        child.step = {"nothing": "end"}.get(recorded.next, recorded.next)

    def _gate(self, child, _):
        self._wait(child, "gate", lambda token: wait_at_gate(self.ports, _at_gate(child, token)))

    def _review(self, child, _):
        def ask(token: str) -> None:
            request_review(self.ports, RequestReview(deployment=child.deployment, token=token, entered=_entered(token)))

        self._wait(child, "review", ask)

    def _wait(self, child, what: str, call: Callable[[str], object]) -> None:
        self.tokens += 1
        token = f"token-{self.tokens:06}"
        child.step, child.token = f"waiting for a {what}", token
        try:
            call(token)
        except Died:
            if child.step == f"waiting for a {what}":
                child.step = what
            raise

    def _apply(self, child, _):
        try:
            begin_job(self.ports, BeginJob(deployment=child.deployment, phase="apply", attempt=1))
        except GateShut:
            child.step = "gate"
        else:
            self._check_apply(self.deployments.get(child.deployment))
            child.step = "take"

    def _take(self, child, _):
        job = job_id(child.deployment, JobKind.APPLY, 1)
        dispatch_job(self.ports, DispatchJob(job=job, token="token"))
        assert child.deployment not in self.applied, "a second apply of one deployment"
        self.applied.append(child.deployment)
        child.step, child.came_to = "applying", None

    def _applying(self, child, outcome):
        state = State.APPLY_FAILED if child.comes_to(outcome) is State.APPLY_FAILED else State.APPLIED
        record_result(self.ports, RecordResult(deployment=child.deployment, state=state.value))
        child.step = "end"

    def _nothing(self, *_):
        """Whoever waits, or has ended, does nothing by itself."""

    _end = _waiting_for_a_signal = _waiting_for_a_gate = _waiting_for_a_review = _nothing

    # What is so.

    def all(self) -> list[Deployment]:
        return list(self.deployments.all())

    def newest(self, change: str) -> Iterator[tuple[Enrolled, Deployment | None]]:
        for each in self.change_sets.deployments(change):
            yield each, self.deployments.many([each.deployment]).get(each.deployment)

    def awaited(self, waiting: Deployment) -> list[Deployment | None]:
        """Return the newest of all that a deployment waits for at some gate."""
        found = self.newest(waiting.change.id)
        return [
            record
            for each, record in found
            if waits_at_some_gate_for(waiting, each.root, each.stack) and record != waiting
        ]

    def _check_apply(self, deployment: Deployment) -> None:
        """An apply begins: all that goes before it is done, or was asked for again only after it had begun.

        What was asked for again while it was reviewed is seen by the second look, before the apply.
        """
        begun = deployment.apply.started_at or LONG_AGO
        for each, record in self.newest(deployment.change.id):
            if waits_at_some_gate_for(deployment, each.root, each.stack) and each.deployment != deployment.id:
                is_later = each.requested_at > begun
                assert is_later or (record is not None and is_done(record)), f"{deployment.id} goes before {each}"

    def come_to_rest(self) -> None:
        """Let all that is under way go on, without faults, until only people can do something."""
        for _ in range(2000):
            before = self._situation()
            while self.unfinished:
                self.deliver(self.unfinished.pop(0))
            while self.mail.moved:
                self.look(0)
            for each in [*self.machines.workers.values(), *self.machines.children.values()]:
                self.step(each, State.APPLIED)
            while self.mail.shown:
                self.show(0)
            if self._situation() == before:
                return
        raise AssertionError("the scenario does not come to rest")

    def _situation(self) -> object:
        executions = [*self.machines.workers.values(), *self.machines.children.values()]
        return [(each.name, each.step) for each in executions], len(self.unfinished), list(self.mail.moved)

    def check_awake(self) -> None:
        """Nobody waits at a gate that would open, or shut, at one more look, and nobody is to step aside."""
        for each in self.all():
            if each.state in WAITING:
                open_gates(self.ports, each.change.id)
                assert self.deployments.get(each.id) == each, f"nobody looked at {each.id}: a wake-up was lost"

    def check_rest(self) -> None:
        """Whatever has not ended is in line behind what can go on, or somebody can answer it, and sees that."""
        for each in self.all():
            if not is_final(each.state):
                self._check_can_go_on(each, ())
            if each.state in {State.AWAITING_REVIEW, State.BLOCKED}:
                self._check_seen(each)

    def _check_can_go_on(self, deployment: Deployment, before: Sequence[str]) -> None:
        assert deployment.id not in before, f"these wait for each other: {[*before, deployment.id]}"
        before = [*before, deployment.id]
        if deployment.state in {State.AWAITING_REVIEW, State.BLOCKED}:
            return
        if deployment.state is State.QUEUED:
            head, _ = self.queues.read(deployment.queue)
            assert head.in_flight, f"nobody takes {deployment.id}"
            self._check_can_go_on(self.deployments.get(head.in_flight), before)
            return
        assert deployment.state in WAITING, f"{deployment.id} is {deployment.state}, and nobody goes on with it"
        missing = [each for each in self.awaited(deployment) if each is not None and not is_done(each)]
        assert missing, f"{deployment.id} waits for nothing"
        for each in missing:
            assert not is_final(each.state), f"{deployment.id} waits for {each.id}, which is {each.state}"
            self._check_can_go_on(each, before)

    def _check_seen(self, deployment: Deployment) -> None:
        """The forge shows the newest check run of a name on a commit: it is this deployment's."""
        mine = self.check_runs.published(deployment.id)
        name = self.forge.check_runs[mine.id].name
        same = [
            number
            for number, run in self.forge.check_runs.items()
            if (run.name, run.sha) == (name, deployment.revision.sha)
        ]
        assert mine.id == max(same), f"{deployment.id} waits for somebody, and another check run hides it"
        assert self.forge.check_runs[mine.id].actions


def _entered(token: str) -> datetime:
    """Return when the state of a token was entered: tokens are counted."""
    return NOW + timedelta(seconds=int(token.removeprefix("token-")))


def _at_gate(child: Execution, token: str) -> WaitAtGate:
    return WaitAtGate(deployment=child.deployment, token=token, entered=_entered(token), job=child.job)
