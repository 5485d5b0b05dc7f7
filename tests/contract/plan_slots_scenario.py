"""Pull requests whose plans share the places of a repository: executions step by step, which may die anywhere."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from tests.builders import NOW, REPOSITORY, any_layer, any_plan, any_pull_request_record
from tests.contract.queue_actors import Died, Fate, Mortal
from tests.contract.stores import Stores
from tests.fakes import MemoryEventPublisher
from tests.fakes.ports import memory_ports
from tidegate.deploys.rules.plan_slots import Precedence, SlotUsage, in_order
from tidegate.deploys.rules.slots import INSTALLATION
from tidegate.deploys.slots.assign_plan_slots import assign_free_slots
from tidegate.deploys.slots.wait_for_plan_slot import wait_for_plan_slot
from tidegate.messages import BeginSpeculativePlan, RecordSpeculativePlan, WaitForPlanSlot
from tidegate.pull_requests.begin_speculative_plan import begin_speculative_plan
from tidegate.pull_requests.close_pull_request import stop_pull_request
from tidegate.pull_requests.record_speculative_plan import record_speculative_plan
from tidegate.pull_requests.rules.record import judged
from tidegate.reconciler.free_plan_slots import free_plan_slots
from tidegate.reconciler.free_slots import free_slots
from tidegate.reconciler.reconciler_pass import ReconcilerPass
from tidegate.rules.errors import Conflict, NoFreePlanSlot, NoFreeSlot, NotFound, TooLate, WrongState
from tidegate.rules.timestamp import LONG_AGO

LIMIT = 2
#: Fewer than the repository has places, so that who has one may have to wait once more.
SLOTS = 1
_OVER = (NotFound, WrongState)


@dataclass
class Planned:
    """A layer in its execution: the state that it is in, the token that waits there, and its attempt to plan."""

    id: str
    number: int
    step: str = "begin"
    token: str = ""
    attempt: int = 1
    entered: int = 0
    retry: int = 0


class Verified:
    """The port ``PlanSlots``, which sees that places are given away in order, and never more than there are."""

    def __init__(self, places: Any) -> None:
        self._places = places
        self.waiting: dict[str, list[str]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._places, name)

    def take(self, repository: str, layer: str, limit: int) -> SlotUsage:
        before = self._places.read(repository)
        after: SlotUsage = self._places.take(repository, layer, limit)
        assert layer in before.held or layer not in after.held or not before.line, "somebody was passed"
        return after

    def join(self, repository: str, layer: str, precedence: Precedence = Precedence.PLAN) -> SlotUsage:
        after: SlotUsage = self._places.join(repository, layer, precedence)
        before = self.waiting.get(repository, [])
        waiting = [*(each for each in before if each in after.line and each != layer), *after.line[-1:]]
        assert list(after.line) == waiting or layer not in waiting[-1:], "the line was not joined at its end"
        self.waiting[repository] = list(after.line)
        return after

    def hand_over(self, repository: str, layer: str, limit: int) -> bool:
        before = self._places.read(repository)
        done: bool = self._places.hand_over(repository, layer, limit)
        assert not done or next(in_order(before)) == layer, "somebody was passed"
        return done


@dataclass
class PlacesScenario:
    """Executions for pull requests, each with its layers, in one repository."""

    stores: Stores
    alive: dict[int, bool] = field(default_factory=dict)
    planned: dict[str, Planned] = field(default_factory=dict)
    unstopped: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fate, self.told = Fate(), MemoryEventPublisher()
        self.places = Verified(self.stores.places)
        self._tokens: Iterator[int] = itertools.count(1)
        self._entries: Iterator[int] = itertools.count(1)

        def mortal(port: Any) -> Any:
            return Mortal(port, self.fate)

        self.ports = memory_ports(
            plan_slot_limit=LIMIT,
            slot_limit=SLOTS,
            plan_slots=mortal(self.places),
            speculative_plans=mortal(self.stores.layers),
            jobs=mortal(self.stores.jobs),
            event_publisher=mortal(self.told),
            workflows=mortal(self),
            deployments=self.stores.deployments,
            drifts=self.stores.drifts,
            pull_requests=self.stores.pull_requests,
            queues=self.stores.queues,
        )
        self.clock = self.ports.clock

    # What Step Functions does.

    def settle(self, token: str, _output: object) -> None:
        for each in self.planned.values():
            if each.token == token and each.step == "waiting" and self.alive[each.number]:
                each.step, each.token = "begin", ""
                return
        raise TooLate

    def pull_request_ending(self, execution: str) -> str | None:
        for number, alive in self.alive.items():
            if self._record(number).execution == execution:
                return None if alive else "ABORTED"
        raise NotFound("execution", execution)

    def stop_pull_request(self, execution: str, _cause: str) -> None:
        for number in self.alive:
            if self._record(number).execution == execution:
                self.alive[number] = False

    # What may happen.

    def open(self, number: int, count: int) -> None:
        """Open a pull request with so many layers; one that was opened before stays as it is."""
        if number in self.alive:
            return
        layers = [any_layer(f"root-{place}", id=f"{number}-{place}", pull_request=number) for place in range(count)]
        record = any_pull_request_record(number)
        record = replace(record, discovered=record.spec.revision, layers=tuple(each.id for each in layers))
        self.stores.pull_requests.save(judged(record, layers, self.clock.now()))
        self.stores.layers.create(layers)
        self.alive[number] = True
        self.planned |= {each.id: Planned(each.id, number) for each in layers}

    def step(self, one: Planned, *, fails: bool = False) -> None:
        """Let a layer's execution do its next step; who dies there is called again by the next."""
        if not self.alive[one.number]:
            return
        match one.step:
            case "begin":
                self._begin(one)
            case "wait":
                self._wait(one)
            case "running" if fails and one.attempt == 1:
                one.step, one.attempt = "begin", 2
            case "running":
                one.step = "record"
            case "record":
                self._record_outcome(one)

    def cancel(self, number: int) -> None:
        """Stop a pull request's execution; who dies in it is called again at some time."""
        self.unstopped.append(number)
        with suppress(Died, Conflict):
            stop_pull_request(self.ports, self._record(number), "A newer commit came.")
            self.unstopped.remove(number)

    def crash(self, number: int) -> None:
        """Let an execution end, of which nobody hears."""
        self.alive[number] = False

    def repeat(self, one: Planned, what: str) -> None:
        """Let a late copy of an earlier call arrive."""
        with suppress(*_OVER, NoFreePlanSlot, NoFreeSlot, Conflict, Died):
            match what:
                case "begin":
                    begin_speculative_plan(self.ports, BeginSpeculativePlan(layer=one.id, attempt=one.attempt))
                case "wait" if one.entered:
                    wait_for_plan_slot(self.ports, self._waiting(one, one.token or "late"))

    def reconcile(self) -> int:
        turn = ReconcilerPass(self.clock, LONG_AGO)
        turn.until = turn.ago(-600)
        return free_plan_slots(self.ports, turn) + free_slots(self.ports, turn)

    def hand_on(self) -> None:
        """Take the message that asks for slots to be handed on; who dies over it gets it again."""
        if self.told.freed:
            with suppress(Died, Conflict):
                assign_free_slots(self.ports)
                self.told.freed = 0

    def _begin(self, one: Planned) -> None:
        try:
            begin_speculative_plan(self.ports, BeginSpeculativePlan(layer=one.id, attempt=one.attempt))
        except (NoFreePlanSlot, NoFreeSlot):
            one.step, one.entered, one.retry = "wait", next(self._entries), 0
        except _OVER:
            one.step = "record"
        except (Died, Conflict):
            return
        else:
            one.step = "running"

    def _wait(self, one: Planned) -> None:
        one.step, one.token = "waiting", f"token-{next(self._tokens)}"
        try:
            wait_for_plan_slot(self.ports, self._waiting(one, one.token))
        except (Died, Conflict):
            # A token that was answered meanwhile ended the state; otherwise it is entered again with another token.
            if one.step == "waiting":
                one.step, one.retry = "wait", one.retry + 1
        except _OVER:
            one.step = "record"

    def _waiting(self, one: Planned, token: str) -> WaitForPlanSlot:
        return WaitForPlanSlot(layer=one.id, token=token, entered=NOW + timedelta(seconds=one.entered), retry=one.retry)

    def _record_outcome(self, one: Planned) -> None:
        try:
            record_speculative_plan(self.ports, RecordSpeculativePlan(layer=one.id, plan=any_plan()))
        except (Died, Conflict):
            return
        one.step = "done"

    def _record(self, number: int) -> Any:
        return self.stores.pull_requests.get(REPOSITORY, number)

    # What must hold.

    def check_always(self) -> None:
        """Check that no more run than there are places, and that whatever runs has one."""
        self._check(INSTALLATION, SLOTS)
        self._check(REPOSITORY, LIMIT)

    def _check(self, pool: str, limit: int) -> None:
        now = self.stores.places.read(pool)
        running = [each.id for each in self.planned.values() if each.step == "running" and self.alive[each.number]]
        assert len(now.held) <= limit
        assert set(running) <= set(now.held)
        assert len(set(now.line)) == len(now.line)
        assert not set(now.line) & set(now.held)

    def check_awake(self) -> None:
        """Check that nobody waits while there is room."""
        now = self.stores.places.read(REPOSITORY)
        assert not now.line or len(now.held) >= LIMIT, now
        slots = self.stores.places.read(INSTALLATION)
        assert not slots.line or len(slots.held) >= SLOTS or self.told.freed, slots

    def come_to_rest(self, *, repairs: bool) -> None:
        """Let everything that goes on end; check that everybody was served, and that nothing is left."""
        self.fate.countdown = None
        for number in [each for each in self.unstopped if repairs]:
            self.cancel(number)
        for _ in range(len(self.planned) * 12 + 4):
            if repairs:
                self.reconcile()
            self.hand_on()
            for one in [each for each in self.planned.values() if each.step != "done"]:
                self.step(one)
                self.check_always()
        assert [each for each in self.planned.values() if self.alive[each.number] and each.step != "done"] == []
        if repairs:
            self.reconcile()
        assert self.stores.places.read(REPOSITORY).is_quiet
        assert self.stores.places.read(INSTALLATION).is_quiet
