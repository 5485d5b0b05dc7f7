"""A small scenario around the queue's use cases: executions that take steps, children that plan and apply.

Any call may die before or after any of its calls to a port, be repeated at once or much later, and any
execution may crash between two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.builders import any_deployment, any_plan, sha
from tests.contract.queue_actors import Child, Died, Execution, Fate, Machines, Mortal, Revisions
from tests.contract.queue_rules import Rules
from tests.contract.stores import Stores
from tests.fakes import MemoryAuditLog, MemoryEventPublisher
from tests.fakes.ports import memory_ports
from tidegate.deploys.queue.claim_deployment import claim_deployment
from tidegate.deploys.queue.close_worker import close_worker
from tidegate.deploys.queue.continue_as_new import continue_as_new
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.ensure_worker import Seen
from tidegate.deploys.queue.execution_closed import ClosedExecution, release_queue
from tidegate.deploys.queue.record_outcome import record_outcome
from tidegate.deploys.queue.unlock import unlock_queue
from tidegate.deploys.queue.validate_revision import validate_revision
from tidegate.deploys.queue.wait_for_signal import wait_for_signal
from tidegate.deploys.reviews.decide_review import decide_review
from tidegate.deploys.rules.job import JobKind, job_id
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Review
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.dispatch_job import dispatch_job
from tidegate.jobs.record_result import record_result
from tidegate.messages import (
    BeginJob,
    ClaimDeployment,
    CloseWorker,
    ContinueAsNew,
    DispatchJob,
    RecordOutcome,
    RecordResult,
    ValidateRevision,
    WaitForSignal,
)
from tidegate.reconciler.reconcile import reconcile
from tidegate.reconciler.release_queues import release_queues
from tidegate.reconciler.start_workers import start_workers
from tidegate.roots.rules.root import deployment_id
from tidegate.rules.errors import ApplyAlreadyStarted, Conflict, JobGone, WrongState


class Scenario(Rules):
    """One queue and everything that acts on it. ``applies`` counts the applies that runners took."""

    def __init__(self, stores: Stores) -> None:
        self.stores, self.fate, self.machines = stores, Fate(), Machines()
        self.queue = any_deployment().queue
        self.accepted: dict[str, int] = {}
        self.applies: list[str] = []
        self.repeatable: list[Callable[[], object]] = []
        self.unfinished_calls: list[Callable[[], object]] = []
        self.closed: list[ClosedExecution] = []
        #: Whether something happened that only the reconciler repairs. Without it, no wake-up may be lost.
        self.needs_reconciling = False
        #: The queue as it was when somebody looked.
        self.seen: Seen | None = None
        self._tokens = 0
        self._requests = 0
        self._wire()

    def _wire(self) -> None:
        def mortal(port: Any) -> Any:
            return Mortal(port, self.fate)

        self.audit = MemoryAuditLog()
        self.ports = memory_ports(
            queues=mortal(self.stores.queues),
            deployments=mortal(self.stores.deployments),
            jobs=mortal(self.stores.jobs),
            workflows=mortal(self.machines),
            event_publisher=mortal(MemoryEventPublisher()),
            audit=mortal(self.audit),
            forge=mortal(Revisions()),
            repository_index=self.stores.repository_index,
            change_sets=self.stores.change_sets,
            plan_slots=self.stores.places,
            pull_requests=self.stores.pull_requests,
        )
        self.clock = self.ports.clock

    # What people and events do. A call that dies is delivered again, as SQS and EventBridge do.

    def deliver(self, call: Callable[[], object]) -> None:
        self.repeatable.append(call)
        try:
            call()
        except Died:
            self.unfinished_calls.append(call)
        finally:
            self.fate.countdown = None

    def push(self, number: int, trigger: Trigger, request: str = "") -> None:
        identifier = deployment_id("acme/infra", "network", sha(number), request or trigger)
        rule = ReviewRule(approvals=2 if number % 2 else 1)
        deployment = any_deployment(
            number, id=identifier, trigger=trigger, requested_at=self.clock.now(), review_rule=rule
        )
        self.accepted.setdefault(deployment.id, number)
        seen = self.seen if trigger is Trigger.MERGE else None
        self.deliver(lambda: enqueue(self.ports, deployment, seen))

    def look(self) -> None:
        """Whoever enqueues a merge next has looked at the queue now, whatever happens until then."""
        self.seen = self.stores.queues.read(self.queue)

    @property
    def attempted(self) -> int | None:
        """The number of the latest attempt's revision."""
        head, _ = self.stores.queues.read(self.queue)
        return int(head.attempted.revision.sha, 16) if head.attempted else None

    def run_again(self, number: int) -> None:
        self._requests += 1
        self.push(number, Trigger.RERUN, f"rerun {self._requests}")

    def unlock(self) -> None:
        unlocking = Unlocking("maintainer", self.clock.now())
        self.deliver(lambda: unlock_queue(self.ports, self.queue, unlocking))

    def answer(self, child: Child, answer: Answer, by: str) -> None:
        """Somebody answers the review, if there is one."""
        at = self.clock.now()
        self.deliver(lambda: decide_review(self.ports, child.deployment, answer, by, at))

    def reconcile(self) -> None:
        self.deliver(self._reconcile)

    def _reconcile(self) -> None:
        for failure in reconcile(self.ports, (release_queues, start_workers)).failures:
            raise failure

    def crash(self, execution: Execution, status: str) -> None:
        """End an execution between two steps, or in the middle of one. Its child goes on, as on AWS it may."""
        execution.alive = False
        self.closed.append(ClosedExecution(self.queue, execution.name, status))

    def deliver_closed(self, index: int) -> None:
        closed = self.closed.pop(index % len(self.closed))
        self.needs_reconciling |= closed.status == "FAILED"
        self.deliver(lambda: release_queue(self.ports, closed))

    def lose_closed(self, index: int) -> None:
        """EventBridge loses the event that an execution has ended."""
        self.closed.pop(index % len(self.closed))
        self.needs_reconciling = True

    def redeliver(self, index: int) -> None:
        self.deliver(self.unfinished_calls.pop(index % len(self.unfinished_calls)))

    def repeat(self, index: int) -> None:
        """Repeat a call of any time before; nobody hears its answer."""
        self.needs_reconciling = True
        try:
            self.repeatable[index % len(self.repeatable)]()
        except Died:
            pass
        finally:
            self.fate.countdown = None

    # What executions do. A task that dies is retried: the step stays the same.

    def step(self, execution: Execution) -> None:
        try:
            getattr(self, f"_{execution.step}")(execution)
        except Died:
            pass
        finally:
            self.fate.countdown = None

    def _task(self, call: Callable[[], Any]) -> Any:
        self.repeatable.append(call)
        return call()

    def _claim(self, execution: Execution) -> None:
        message = ClaimDeployment(
            queue=self.queue, execution=execution.name, rounds=execution.rounds, started=execution.started
        )
        claimed = self._task(lambda: claim_deployment(self.ports, message))
        execution.rounds += 1
        execution.version, execution.deployment, execution.error = claimed.version, claimed.deployment or "", None
        steps = {"deploy": "validate", "wait": "wait", "hand over": "hand_over", "stop": "end"}
        execution.step = steps[claimed.step]

    def _validate(self, execution: Execution) -> None:
        message = ValidateRevision(queue=self.queue, deployment=execution.deployment)
        validated = self._task(lambda: validate_revision(self.ports, message))
        execution.step = "start_child" if validated.allowed else "record"

    def _start_child(self, execution: Execution) -> None:
        if execution.deployment in self.machines.children:
            execution.error, execution.step = "StepFunctions.ExecutionAlreadyExistsException", "record"
        else:
            self.machines.children[execution.deployment] = Child(execution.deployment)
            execution.step = "deploying"

    def _deploying(self, execution: Execution) -> None:
        if self.machines.children[execution.deployment].step == "end":
            execution.step = "record"

    def _record(self, execution: Execution) -> None:
        message = RecordOutcome(queue=self.queue, deployment=execution.deployment, error=execution.error)
        self._task(lambda: record_outcome(self.ports, message))
        execution.step = "claim"

    def _wait(self, execution: Execution) -> None:
        """Enter the waiting state with a new token; a retry has another one."""
        self._tokens += 1
        execution.step, execution.token = "waiting", f"token-{self._tokens}"
        message = WaitForSignal(
            queue=self.queue, execution=execution.name, version=execution.version, token=execution.token
        )
        try:
            self._task(lambda: wait_for_signal(self.ports, message))
        except Died:
            if execution.step == "waiting":
                execution.step, execution.token = "wait", ""
            raise

    def _waiting(self, execution: Execution) -> None:
        """Nothing happens by itself."""

    def _close(self, execution: Execution) -> None:
        message = CloseWorker(queue=self.queue, execution=execution.name)
        closed = self._task(lambda: close_worker(self.ports, message)).closed
        execution.step = "end" if closed else "claim"

    def _hand_over(self, execution: Execution) -> None:
        message = ContinueAsNew(queue=self.queue, execution=execution.name)
        self._task(lambda: continue_as_new(self.ports, message))
        execution.step = "end"

    def _end(self, execution: Execution) -> None:
        execution.alive = False

    # What Terraform executions do. One that is refused or crashes ends without a result.

    def child_step(self, child: Child, outcome: State) -> None:
        try:
            getattr(self, f"_child_{child.step}")(child, outcome)
        except Died:
            pass
        except (WrongState, ApplyAlreadyStarted, JobGone, Conflict, ValueError):
            child.step = "end"
        finally:
            self.fate.countdown = None

    def _child_plan(self, child: Child, _outcome: State) -> None:
        begin_job(self.ports, BeginJob(deployment=child.deployment, phase="plan", attempt=1))
        child.step = "planned"

    def _child_planned(self, child: Child, outcome: State) -> None:
        deployment = self.stores.deployments.get(child.deployment)
        if outcome in {State.PLAN_FAILED, State.NO_CHANGES}:
            self.stores.deployments.save(deployment.moved(outcome, self.clock.now()))
            child.step = "end"
        else:
            review = Review(f"review of {deployment.id}", self.clock.now())
            planned = replace(deployment, planned=replace(deployment.planned, plan=any_plan()), review=review)
            self.stores.deployments.save(planned.moved(State.AWAITING_REVIEW, self.clock.now()))
            child.step = "review"

    def _child_review(self, child: Child, outcome: State) -> None:
        """Wait for the answers of two people, if it takes as many; or until the time is over."""
        if outcome is State.REVIEW_EXPIRED:
            record_result(self.ports, RecordResult(deployment=child.deployment, state="review_expired"))
            child.step = "end"
            return
        deployment = self.stores.deployments.get(child.deployment)
        if deployment.state is State.AWAITING_REVIEW:
            by = f"reviewer {len(deployment.review.approvals)}" if deployment.review else ""
            answer = Answer.REJECT if outcome is State.REJECTED else Answer.APPROVE
            if not decide_review(self.ports, child.deployment, answer, by, self.clock.now()).done:
                # The commit is on no branch any more: a person can only reject its plan.
                decide_review(self.ports, child.deployment, Answer.REJECT, by, self.clock.now())
        deployment = self.stores.deployments.get(child.deployment)
        if deployment.state is not State.AWAITING_REVIEW:
            child.step = "apply" if deployment.state is State.APPROVED else "end"

    def _child_apply(self, child: Child, _outcome: State) -> None:
        begin_job(self.ports, BeginJob(deployment=child.deployment, phase="apply", attempt=1))
        child.step = "take"

    def _child_take(self, child: Child, _outcome: State) -> None:
        job = job_id(child.deployment, JobKind.APPLY, 1)
        dispatch_job(self.ports, DispatchJob(job=job, token="token"))
        if self.stores.jobs.take(job, f"runner of {child.deployment}"):
            self.check_apply(child.deployment)
            self.applies.append(child.deployment)
            child.step = "applying"

    def _child_applying(self, child: Child, outcome: State) -> None:
        result = outcome if outcome in {State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN} else State.APPLIED
        record_result(self.ports, RecordResult(deployment=child.deployment, state=result.value))
        child.step = "end"

    def _child_end(self, child: Child, _outcome: State) -> None:
        """Nothing happens any more."""

    def come_to_rest(self) -> None:
        """Let everything that is under way end, without faults and without a time-out of an hour."""
        for _ in range(400):
            before = self._situation()
            while self.unfinished_calls:
                self.redeliver(0)
            while self.closed:
                self.deliver_closed(0)
            self._let_all_step()
            if self._situation() == before and self.needs_reconciling:
                self.reconcile()
            if self._situation() == before:
                return
        raise AssertionError("the scenario does not come to rest")

    def _let_all_step(self) -> None:
        for child in list(self.machines.children.values()):
            while child.step != "end":
                self.child_step(child, State.APPLIED)
        for execution in list(self.machines.executions.values()):
            step = ""
            while execution.alive and execution.step != step:
                step = execution.step
                self.step(execution)

    def _situation(self) -> object:
        executions = [(each.name, each.step, each.alive) for each in self.machines.executions.values()]
        children = [(each.deployment, each.step) for each in self.machines.children.values()]
        return executions, children, self.stores.queues.read(self.queue), len(self.unfinished_calls)
