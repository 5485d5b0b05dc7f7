"""The installation's slots, whatever happens in which order: never too many, in order, and everybody is served."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run

from tests.chance import examples
from tests.contract.slots_scenario import LIMIT, SlotsScenario
from tests.contract.stores import dynamodb_stores, memory_stores, new_table
from tidegate.deploys.rules.slots import INSTALLATION

INDEX = st.integers(0, 10_000)
DEATHS = st.none() | st.tuples(st.integers(0, 12), st.booleans())


class SlotsMachine(RuleBasedStateMachine):
    """Rules are what may happen next; the scenario says what follows and checks it."""

    def __init__(self, scenario: SlotsScenario) -> None:
        super().__init__()
        self.scenario = scenario
        self.is_calm = False

    @initialize(is_calm=st.booleans(), count=st.integers(1, 6))
    def begin(self, is_calm, count):
        """When it is calm, nothing happens that only the reconciler repairs."""
        self.is_calm = is_calm
        for _ in range(count):
            self.scenario.begin()

    def _fated(self, death):
        if death is not None and not self.is_calm:
            self.scenario.fate.countdown, self.scenario.fate.after = death

    def _any(self, index):
        every = list(self.scenario.deployed.values())
        return every[index % len(every)]

    @rule()
    def one_more(self):
        self.scenario.begin()

    @rule(index=INDEX, fails=st.booleans(), death=DEATHS)
    def step(self, index, fails, death):
        self._fated(death)
        self.scenario.step(self._any(index), fails=fails)

    @rule(count=st.integers(1, 3))
    def everybody_steps(self, count):
        for _ in range(count):
            for one in list(self.scenario.deployed.values()):
                self.scenario.step(one)

    @rule(index=INDEX, death=DEATHS)
    def cancel(self, index, death):
        self._fated(death)
        self.scenario.cancel(self._any(index))

    @precondition(lambda self: not self.is_calm)
    @rule(index=INDEX)
    def crash(self, index):
        self.scenario.crash(self._any(index))

    @rule(index=INDEX, what=st.sampled_from(["begin", "wait", "record"]), death=DEATHS)
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
        self.scenario.reconcile()

    @invariant()
    def nobody_runs_without_a_slot(self):
        self.scenario.fate.countdown = None
        self.scenario.check_always()
        if self.is_calm:
            self.scenario.check_awake()

    def teardown(self):
        self.scenario.come_to_rest(repairs=not self.is_calm)


def _run(make_scenario, number: int, steps: int) -> None:
    run(
        lambda: SlotsMachine(make_scenario()),
        settings=examples(number, stateful_step_count=steps, suppress_health_check=list(HealthCheck)),
    )


@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_memory():
    _run(lambda: SlotsScenario(memory_stores()), number=100, steps=40)


@pytest.mark.nightly
@pytest.mark.hypothesis
def test_no_order_of_events_breaks_the_rules_in_dynamodb(client):
    _run(lambda: SlotsScenario(dynamodb_stores(client, new_table(client))), number=1, steps=20)


def test_a_merge_of_300_roots_runs_to_its_end():
    scenario = SlotsScenario(memory_stores())
    for _ in range(300):
        scenario.begin()
    for one in scenario.deployed.values():
        scenario.step(one)
        scenario.step(one)
    assert len(scenario.stores.places.read(INSTALLATION).line) == 300 - LIMIT
    while any(one.step != "done" for one in scenario.deployed.values()):
        before = [(one.step, one.kind) for one in scenario.deployed.values()]
        for one in scenario.deployed.values():
            scenario.step(one)
        scenario.hand_on()
        scenario.check_always()
        assert before != [(one.step, one.kind) for one in scenario.deployed.values()], "nobody goes on"
    assert {each.state.value for each in scenario.stores.deployments.many(scenario.deployed).values()} == {"applied"}
    assert scenario.stores.places.read(INSTALLATION).is_quiet
