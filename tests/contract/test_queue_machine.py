"""The queue's use cases in any order, with deaths, crashes, repetitions and time-outs (design, rules 1 to 4)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.chance import examples
from tests.contract.queue_actors import BRANCHES
from tests.contract.queue_scenario import Scenario
from tests.contract.stores import dynamodb_stores, memory_stores, new_table
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State

NUMBERS = st.integers(1, 6) | st.integers(BRANCHES, BRANCHES + 1)
INDEX = st.integers(0, 10_000)
OUTCOMES = st.sampled_from(
    [
        State.APPLIED,
        State.APPLIED,
        State.NO_CHANGES,
        State.PLAN_FAILED,
        State.REJECTED,
        State.REVIEW_EXPIRED,
        State.APPLY_FAILED,
        State.OUTCOME_UNKNOWN,
    ]
)
DEATHS = st.none() | st.tuples(st.integers(0, 6), st.booleans())


class QueueMachine(RuleBasedStateMachine):
    """Rules are what may happen next; the scenario says what follows and checks it."""

    def __init__(self, scenario: Scenario, check_every: int) -> None:
        super().__init__()
        self.scenario = scenario
        self._check_every, self._steps = check_every, 0
        self._is_calm = False

    @initialize(is_calm=st.booleans())
    def weather(self, is_calm):
        """When it is calm, nothing happens that only the reconciler repairs."""
        self._is_calm = is_calm

    def _fated(self, death: tuple[int, bool] | None) -> None:
        if death is not None:
            self.scenario.fate.countdown, self.scenario.fate.after = death

    def _alive(self, *steps: str):
        executions = [each for each in self.scenario.machines.executions.values() if each.alive]
        return [each for each in executions if not steps or each.step in steps]

    def _children(self):
        return [child for child in self.scenario.machines.children.values() if child.step != "end"]

    @rule(number=NUMBERS, death=DEATHS)
    def push(self, number, death):
        self._fated(death)
        self.scenario.push(number, Trigger.MERGE)

    @rule()
    def look(self):
        self.scenario.look()

    @rule(number=NUMBERS, death=DEATHS)
    def push_after_a_look(self, number, death):
        self.scenario.look()
        self.push(number, death)

    @rule(number=NUMBERS, death=DEATHS)
    def push_by_hand(self, number, death):
        self._fated(death)
        self.scenario.push(number, Trigger.MANUAL)

    @rule(number=NUMBERS, death=DEATHS)
    def run_again(self, number, death):
        self._fated(death)
        self.scenario.run_again(number)

    @precondition(lambda self: self.scenario.attempted is not None)
    @rule(death=DEATHS)
    def run_the_latest_attempt_again(self, death):
        self._fated(death)
        self.scenario.run_again(self.scenario.attempted)

    @precondition(lambda self: self._children())
    @rule(index=INDEX, answer=st.sampled_from(Answer), by=st.sampled_from(["maintainer", "reviewer"]), death=DEATHS)
    def answer_a_review(self, index, answer, by, death):
        children = self._children()
        self._fated(death)
        self.scenario.answer(children[index % len(children)], answer, by)

    @rule(death=DEATHS)
    def unlock(self, death):
        self._fated(death)
        self.scenario.unlock()

    @precondition(lambda self: self._alive())
    @rule(index=INDEX, death=DEATHS)
    def step(self, index, death):
        executions = self._alive()
        self._fated(death)
        self.scenario.step(executions[index % len(executions)])

    @precondition(lambda self: self._alive())
    @rule(index=INDEX, count=st.integers(2, 7))
    def several_steps(self, index, count):
        executions = self._alive()
        for _ in range(count):
            execution = executions[index % len(executions)]
            if execution.alive:
                self.scenario.step(execution)

    @precondition(lambda self: self._alive())
    @rule(index=INDEX, outcome=OUTCOMES, until=st.sampled_from(["wait", "waiting"]))
    def work_through_the_line(self, index, outcome, until):
        """Come to where the queue looks empty: what happens next there is what may be lost."""
        executions = self._alive()
        execution = executions[index % len(executions)]
        for _ in range(30):
            if not execution.alive or execution.step in {until, "waiting"}:
                return
            self.scenario.step(execution)
            for child in self._children():
                self.scenario.child_step(child, outcome)

    @precondition(lambda self: self._children())
    @rule(index=INDEX, outcome=OUTCOMES, death=DEATHS)
    def child_step(self, index, outcome, death):
        children = self._children()
        self._fated(death)
        self.scenario.child_step(children[index % len(children)], outcome)

    @precondition(lambda self: self._children())
    @rule(index=INDEX, outcome=OUTCOMES)
    def finish(self, index, outcome):
        children = self._children()
        child = children[index % len(children)]
        for _ in range(6):
            self.scenario.child_step(child, outcome)

    @precondition(lambda self: self._children())
    @rule(index=INDEX, count=st.integers(2, 5))
    def several_child_steps(self, index, count):
        children = self._children()
        for _ in range(count):
            self.scenario.child_step(children[index % len(children)], State.APPLIED)

    @precondition(lambda self: self._children())
    @rule(index=INDEX)
    def child_crashes(self, index):
        children = self._children()
        children[index % len(children)].step = "end"

    @precondition(lambda self: self._alive())
    @rule(index=INDEX, status=st.sampled_from(["FAILED", "ABORTED", "TIMED_OUT"]), is_heard=st.booleans())
    def crash(self, index, status, is_heard):
        executions = self._alive()
        status = "ABORTED" if self._is_calm else status
        self.scenario.crash(executions[index % len(executions)], status)
        if is_heard:
            self.scenario.deliver_closed(-1)

    @precondition(lambda self: self.scenario.closed)
    @rule(index=INDEX, death=DEATHS)
    def hear_of_a_crash(self, index, death):
        self._fated(death)
        self.scenario.deliver_closed(index)

    @precondition(lambda self: self.scenario.closed and not self._is_calm)
    @rule(index=INDEX)
    def never_hear_of_a_crash(self, index):
        self.scenario.lose_closed(index)

    @precondition(lambda self: self._alive("waiting"))
    @rule(index=INDEX)
    def time_out(self, index):
        executions = self._alive("waiting")
        execution = executions[index % len(executions)]
        execution.step, execution.token = "close", ""

    @precondition(lambda self: self.scenario.unfinished_calls)
    @rule(index=INDEX, death=DEATHS)
    def redeliver(self, index, death):
        self._fated(death)
        self.scenario.redeliver(index)

    @precondition(lambda self: self.scenario.repeatable and not self._is_calm)
    @rule(index=INDEX, death=DEATHS)
    def repeat(self, index, death):
        self._fated(death)
        self.scenario.repeat(index)

    @precondition(lambda self: not self._is_calm)
    @rule(death=DEATHS)
    def reconcile(self, death):
        self._fated(death)
        self.scenario.reconcile()

    @invariant()
    def nothing_is_lost_or_in_two_places(self):
        self._steps += 1
        if self._steps % self._check_every == 0:
            self.scenario.check_always()
            self.scenario.check_awake()

    def teardown(self):
        self.scenario.come_to_rest()
        self.scenario.check_always()
        self.scenario.check_at_rest()


def _run(make_scenario, number: int, steps: int, check_every: int) -> None:
    run_state_machine_as_test(
        lambda: QueueMachine(make_scenario(), check_every),
        settings=examples(number, stateful_step_count=steps, suppress_health_check=list(HealthCheck)),
    )


@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_memory():
    _run(lambda: Scenario(memory_stores()), number=400, steps=50, check_every=1)


@pytest.mark.nightly
@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_dynamodb(client):
    _run(lambda: Scenario(dynamodb_stores(client, new_table(client))), number=1, steps=25, check_every=5)
