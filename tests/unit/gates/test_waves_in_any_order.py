"""Waves in any order, with deaths, repetitions and messages that come late: never more at once than the rules allow,
nothing begins after too many failures or a stop, and nobody waits for ever.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.chance import examples
from tests.contract.queue_actors import Died
from tests.unit.gates.gate_scenario import CHANGE
from tests.unit.gates.wave_scenario import WaveScenario
from tidegate.changes.rules.wave import WaveRules
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.state import FAILED, State, is_final
from tidegate.gates.open_gates import open_gates
from tidegate.gates.stop_wave import continue_wave, stop_wave

ROOTS = tuple(f"root-{number}" for number in range(6))
RULES = WaveRules(max_concurrent=2, stop_on_failures=2)
MEMBERS = st.sampled_from(ROOTS)
DEATHS = st.none() | st.tuples(st.integers(0, 9), st.booleans())
ENDS = st.sampled_from([State.APPLIED, State.APPLIED, State.APPLY_FAILED, State.OUTCOME_UNKNOWN])


class WavesInAnyOrder(RuleBasedStateMachine):
    """Rules are what may happen next. A call that somebody died in is made again, as queues and machines do."""

    def __init__(self):
        super().__init__()
        self.scenario = WaveScenario()
        self.members = {root: self.scenario.coming(root, wave=RULES) for root in ROOTS}
        self.failures, self.stopped = 0, False

    def mortal(self, death, call):
        """Call, and die there; then call again."""
        if death is not None:
            self.scenario.fate.countdown, self.scenario.fate.after = death
        with suppress(Died, ExceptionGroup):
            call()
            death = None
        self.scenario.fate.countdown = None
        if death is not None:
            call()

    def now(self, root):
        return self.scenario.now(self.members[root])

    @rule(root=MEMBERS, death=DEATHS)
    def comes_to_its_gate(self, root, death):
        if self.now(root).state in {State.PLANNING, *WAITING} and root not in self.answered:
            self.mortal(death, lambda: self.scenario.comes(self.members[root]))

    @property
    def answered(self):
        return {each.root.name for each in self.members.values() if each.id in self.scenario.answers}

    @rule(root=MEMBERS, death=DEATHS)
    def begins(self, root, death):
        member = self.now(root)
        if self.scenario.answers.get(member.id) == "apply" and member.state in {State.GATED, State.APPROVED}:
            self.mortal(death, partial(self.scenario.begins, member))
            if self.now(root).state is State.APPLYING:
                assert not self.stopped
                assert self.failures < 2

    @rule(root=MEMBERS, state=ENDS, death=DEATHS)
    def ends(self, root, state, death):
        member = self.now(root)
        if member.state is not State.APPLYING:
            return
        self.mortal(death, lambda: self.scenario.finishes(member, state))
        self.failures += self.now(root).state in FAILED

    @rule(death=DEATHS)
    def somebody_continues(self, death):
        at = self.scenario.clock.now()
        self.mortal(death, lambda: continue_wave(self.scenario.ports, CHANGE, "prod", "operator", at, "known"))
        wave = self.scenario.wave()
        self.failures = len(wave.counted)

    @precondition(lambda self: len(self.answered) > 3)
    @rule(death=DEATHS)
    def somebody_stops(self, death):
        at = self.scenario.clock.now()
        self.mortal(death, lambda: stop_wave(self.scenario.ports, CHANGE, "prod", "reviewer", at))
        self.stopped = self.scenario.wave().stopped is not None

    @rule(death=DEATHS)
    def the_reconciler_looks(self, death):
        self.mortal(death, lambda: open_gates(self.scenario.ports, CHANGE))

    @invariant()
    def no_more_run_than_may(self):
        running = [root for root in ROOTS if self.now(root).state is State.APPLYING]
        assert len(running) <= 2
        assert {self.members[root].id for root in running} <= set(self.scenario.wave().running)

    def teardown(self):
        """Once all messages are delivered, everybody has the answer, or waits for one who runs or for a person."""
        for root in ROOTS:
            if self.now(root).state is State.PLANNING:
                self.scenario.comes(self.members[root])
        self.scenario.look()
        wave = self.scenario.wave()
        holders = [each for each in wave.running if not is_final(self.scenario.deployments.get(each).state)]
        assert len(holders) == len(wave.running)
        for member in [self.now(root) for root in ROOTS]:
            if member.state in WAITING and member.gate.next is None:
                assert not self.stopped
                assert len(wave.running) == 2 or (member.state is State.BLOCKED and len(wave.counted) >= 2)


TestWavesInAnyOrder = WavesInAnyOrder.TestCase
TestWavesInAnyOrder.settings = examples(40, stateful_step_count=60, suppress_health_check=list(HealthCheck))
