"""The places for plans, whatever happens in which order: never too many, in order, and everybody is served."""

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
from tests.contract.plan_slots_scenario import PlacesScenario
from tests.contract.queue_actors import Died
from tests.contract.stores import dynamodb_stores, memory_stores, new_table

INDEX = st.integers(0, 10_000)
DEATHS = st.none() | st.tuples(st.integers(0, 9), st.booleans())


class PlacesMachine(RuleBasedStateMachine):
    """Rules are what may happen next; the scenario says what follows and checks it."""

    def __init__(self, scenario: PlacesScenario) -> None:
        super().__init__()
        self.scenario = scenario
        self.is_calm = False

    @initialize(is_calm=st.booleans(), counts=st.lists(st.integers(1, 4), min_size=1, max_size=4))
    def begin(self, is_calm, counts):
        """When it is calm, nothing happens that only the reconciler repairs."""
        self.is_calm = is_calm
        for number, count in enumerate(counts, 1):
            self.scenario.open(number, count)

    def _fated(self, death):
        if death is not None and not self.is_calm:
            self.scenario.fate.countdown, self.scenario.fate.after = death

    def _any(self, index):
        every = list(self.scenario.planned.values())
        return every[index % len(every)]

    def _in(self, steps):
        return [
            each for each in self.scenario.planned.values() if each.step in steps and self.scenario.alive[each.number]
        ]

    @rule(number=st.integers(5, 7), count=st.integers(1, 4))
    def open(self, number, count):
        self.scenario.open(number, count)

    @rule(index=INDEX, fails=st.booleans(), death=DEATHS)
    def step(self, index, fails, death):
        self._fated(death)
        self.scenario.step(self._any(index), fails=fails)

    @rule(index=INDEX, count=st.integers(2, 5))
    def several_steps(self, index, count):
        for _ in range(count):
            self.scenario.step(self._any(index))

    @rule(count=st.integers(1, 3))
    def everybody_steps(self, count):
        for _ in range(count):
            for one in list(self.scenario.planned.values()):
                self.scenario.step(one)

    @precondition(lambda self: self._in({"waiting"}) and self._in({"running", "record"}))
    @rule(index=INDEX, death=st.none() | st.tuples(st.integers(1, 8), st.booleans()))
    def give_a_place_back(self, index, death):
        """What happens between a place that is given back, and who wakes with it, is what may be lost."""
        holders = self._in({"running", "record"})
        one = holders[index % len(holders)]
        if one.step == "running":
            self.scenario.step(one)
        self._fated(death)
        self.scenario.step(one)

    @rule(index=INDEX, death=DEATHS)
    def cancel(self, index, death):
        self._fated(death)
        self.scenario.cancel(self._any(index).number)

    @precondition(lambda self: not self.is_calm)
    @rule(index=INDEX)
    def crash(self, index):
        self.scenario.crash(self._any(index).number)

    @rule(index=INDEX, what=st.sampled_from(["begin", "wait"]), death=DEATHS)
    def repeat(self, index, what, death):
        self._fated(death)
        self.scenario.repeat(self._any(index), what)

    @rule(death=DEATHS)
    def hand_on(self, death):
        self._fated(death)
        self.scenario.hand_on()

    @rule(death=DEATHS)
    def reconcile(self, death):
        self._fated(death)
        try:
            self.scenario.reconcile()
        except Died:
            return

    @invariant()
    def nobody_plans_without_a_place(self):
        self.scenario.fate.countdown = None
        self.scenario.check_always()
        if self.is_calm:
            self.scenario.check_awake()

    def teardown(self):
        self.scenario.come_to_rest(repairs=not self.is_calm)


def _run(make_scenario, number: int, steps: int) -> None:
    run_state_machine_as_test(
        lambda: PlacesMachine(make_scenario()),
        settings=examples(number, stateful_step_count=steps, suppress_health_check=list(HealthCheck)),
    )


@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_memory():
    _run(lambda: PlacesScenario(memory_stores()), number=300, steps=40)


@pytest.mark.nightly
@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_dynamodb(client):
    _run(lambda: PlacesScenario(dynamodb_stores(client, new_table(client))), number=1, steps=20)
