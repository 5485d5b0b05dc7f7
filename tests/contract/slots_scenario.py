"""Deployments that share the installation's slots: their executions step by step, which may die anywhere."""

from __future__ import annotations

import itertools
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from tests.builders import NOW, any_deployment, any_plan
from tests.contract.plan_slots_scenario import Verified
from tests.contract.queue_actors import Died, Fate, Mortal
from tests.contract.stores import Stores
from tests.fakes import MemoryEventPublisher
from tests.fakes.ports import memory_ports
from tidegate.deploys.cancel_deployment import cancel_deployment, go_on_cancelling
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.slots.assign_plan_slots import assign_free_slots
from tidegate.deploys.slots.keep_slots import release_slot
from tidegate.deploys.slots.wait_for_slot import wait_for_slot
from tidegate.jobs.begin_job import begin_job
from tidegate.jobs.record_plan import record_plan
from tidegate.jobs.record_result import record_result
from tidegate.messages import BeginJob, RecordPlan, RecordResult, WaitForSlot
from tidegate.reconciler.free_slots import free_slots
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import Conflict, DeploymentCancelled, NoFreeSlot, NotFound, TooLate, WrongState
from tidegate.rules.timestamp import LONG_AGO

LIMIT = 2
_OVER = (NotFound, WrongState, DeploymentCancelled)


@dataclass
class Deployed:
    """A deployment in its execution: the state that it is in, the token that waits there, its job."""

    id: str
    step: str = "begin"
    kind: str = "plan"
    token: str = ""
    tries: int = 1
    entered: int = 0
    retry: int = 0
    alive: bool = True


@dataclass
class SlotsScenario:
    """Executions of deployments, of which each needs no review."""

    stores: Stores
    deployed: dict[str, Deployed] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.fate, self.told = Fate(), MemoryEventPublisher()
        self.places = Verified(self.stores.places)
        self._numbers = itertools.count(1)

        def mortal(port: Any) -> Any:
            return Mortal(port, self.fate)

        self.ports = memory_ports(
            slot_limit=LIMIT,
            plan_slots=mortal(self.places),
            deployments=mortal(self.stores.deployments),
            jobs=mortal(self.stores.jobs),
            event_publisher=mortal(self.told),
            workflows=mortal(self),
            queues=mortal(self.stores.queues),
            change_sets=self.stores.change_sets,
            pull_requests=self.stores.pull_requests,
            speculative_plans=self.stores.layers,
        )
        self.clock = self.ports.clock

    # What Step Functions does.

    def settle(self, token: str, _output: object) -> None:
        one = self._waits_with(token)
        one.step, one.token = "begin", ""

    def fail(self, token: str, _error: str, _cause: str) -> None:
        self._waits_with(token).step = "cancelled"

    def _waits_with(self, token: str) -> Deployed:
        for each in self.deployed.values():
            if each.token == token and each.step == "waiting" and each.alive:
                return each
        raise TooLate

    # What may happen.

    def begin(self) -> None:
        """Let a merge ask for one more deployment, which its queue has just claimed."""
        number = next(self._numbers)
        root = Root(f"root-{number}", f"roots/{number}")
        one = any_deployment(number, root=root, review_rule=ReviewRule(PlanReview.NEVER))
        one = replace(one, id=f"deployment-{number}").moved(State.PLANNING, self.clock.now())
        queues = self.stores.queues
        queues.enqueue(one)
        head, first = queues.read(one.queue)
        queues.commit(head, replace(head, in_flight=one.id), take=first)
        self.deployed[one.id] = Deployed(one.id)

    def step(self, one: Deployed, *, fails: bool = False) -> None:
        """Let an execution do its next step; who dies there is called again by the next."""
        if not one.alive:
            return
        with suppress(Died, Conflict):
            match one.step:
                case "begin":
                    self._begin(one)
                case "wait":
                    self._wait(one)
                case "running" if fails and one.kind == "plan" and one.tries == 1:
                    one.step, one.tries = "begin", 2
                case "running":
                    one.step = "failed" if fails else "record"
                case "record":
                    self._record(one)
                case "failed":
                    self._end(one, "apply_failed" if one.kind == "apply" else "plan_failed")
                case "cancelled" | "fault":
                    self._end(one, "engine_fault")

    def cancel(self, one: Deployed) -> None:
        with suppress(Died, Conflict, TooLate):
            cancel_deployment(self.ports, one.id, "reviewer", self.clock.now())

    def crash(self, one: Deployed) -> None:
        """Let an execution end, of which only the repairs of queues hear: they end the record."""
        one.alive = False

    def end_crashed(self) -> None:
        for one in self.deployed.values():
            deployment = self.stores.deployments.get(one.id)
            if not one.alive and not is_final(deployment.state):
                ending = deployment.ending_without_result("ABORTED", self.clock.now(), apply_was_taken=False)
                self.stores.deployments.save(deployment.ended(deployment.outcome.ending or ending))

    def repeat(self, one: Deployed, what: str) -> None:
        """Let a late copy of an earlier call arrive."""
        with suppress(*_OVER, NoFreeSlot, Conflict, Died):
            match what:
                case "begin" if one.step != "begin":
                    begin_job(self.ports, BeginJob(deployment=one.id, phase="plan", attempt=one.tries, tries=one.tries))
                case "wait" if one.entered:
                    wait_for_slot(self.ports, self._waiting(one, one.token or "late", one.entered))
                case "record":
                    release_slot(self.ports, one.id)

    def hand_on(self) -> None:
        """Take the message that asks for slots to be handed on; who dies over it gets it again."""
        if self.told.freed:
            with suppress(Died, Conflict):
                assign_free_slots(self.ports)
                self.told.freed = 0

    def reconcile(self) -> None:
        with suppress(Died, Conflict):
            self.end_crashed()
            for one in self.deployed:
                go_on_cancelling(self.ports, one)
            turn = ReconcilerPass(self.clock, LONG_AGO)
            turn.until = turn.ago(-600)
            free_slots(self.ports, turn)

    def _begin(self, one: Deployed) -> None:
        tries = one.tries if one.kind == "plan" else 1
        try:
            message = {"deployment": one.id, "phase": one.kind, "attempt": tries, "tries": tries}
            begin_job(self.ports, BeginJob.model_validate(message))
        except NoFreeSlot:
            one.step, one.entered, one.retry = "wait", next(self._numbers), 0
        except _OVER:
            one.step = "cancelled"
        else:
            one.step = "running"

    def _wait(self, one: Deployed) -> None:
        one.step, one.token = "waiting", f"token-{next(self._numbers)}"
        try:
            wait_for_slot(self.ports, self._waiting(one, one.token, one.entered))
        except (Died, Conflict):
            # A token that was answered meanwhile ended the state; otherwise it is entered again with another token.
            if one.step == "waiting":
                one.step, one.retry = "wait", one.retry + 1
        except _OVER:
            one.step = "cancelled"

    def _waiting(self, one: Deployed, token: str, entered: int) -> WaitForSlot:
        return WaitForSlot(deployment=one.id, token=token, entered=NOW + timedelta(seconds=entered), retry=one.retry)

    def _record(self, one: Deployed) -> None:
        if one.kind == "apply":
            self._end(one, "applied")
            return
        try:
            deployment = self.stores.deployments.get(one.id)
            plan = replace(any_plan(), job=deployment.planned.job)
            record_plan(self.ports, RecordPlan.model_validate({"deployment": one.id, "plan": plan}))
        except _OVER:
            one.step = "cancelled"
        else:
            one.step, one.kind = "begin", "apply"

    def _end(self, one: Deployed, state: Any) -> None:
        record_result(self.ports, RecordResult(deployment=one.id, state=state))
        one.step = "done"

    # What must hold.

    def check_always(self) -> None:
        """Check that no more run than there are slots, and that whatever runs has one."""
        now = self.stores.places.read(INSTALLATION)
        running = {each.id for each in self.deployed.values() if each.step == "running" and each.alive}
        running = {each for each in running if self.stores.deployments.get(each).outcome.ending is None}
        assert len(now.held) <= LIMIT
        assert running <= set(now.held), (running, now)
        assert len(set(now.line)) == len(now.line)
        assert not set(now.line) & set(now.held)

    def check_awake(self) -> None:
        """Check that nobody waits while there is room, unless a message that says so is under way."""
        now = self.stores.places.read(INSTALLATION)
        assert not now.line or len(now.held) >= LIMIT or self.told.freed, now

    def come_to_rest(self, *, repairs: bool) -> None:
        """Let everything that goes on end; check that everybody was served, and that nothing is left."""
        self.fate.countdown = None
        for _ in range(len(self.deployed) * 12 + 4):
            if repairs:
                self.reconcile()
            self.hand_on()
            for one in [each for each in self.deployed.values() if each.step != "done"]:
                self.step(one)
                self.check_always()
        assert [each for each in self.deployed.values() if each.alive and each.step != "done"] == []
        if repairs:
            self.reconcile()
        assert self.stores.places.read(INSTALLATION).is_quiet
