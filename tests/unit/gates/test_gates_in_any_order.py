"""The gates of a change in any order, with deaths, repetitions and messages that come late: nothing goes too early,
and nobody waits for ever.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.chance import examples
from tests.contract.queue_actors import Died
from tests.instants import utc
from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.overview import is_done
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import AfterGate
from tidegate.gates.decide_gate import reject_gate
from tidegate.gates.open_gates import open_gates

#: The stacks of the change, each after all before it, and two roots in each.
STACKS = ("dev", "staging", "prod")
ROOTS = [(f"{stack}-{number}", stack) for stack in STACKS for number in (1, 2)]
ENDS = st.sampled_from([State.NO_CHANGES, State.APPLIED, State.APPLIED, State.APPLY_FAILED, State.REJECTED])
MEMBERS = st.sampled_from(ROOTS)
DEATHS = st.none() | st.tuples(st.integers(0, 9), st.booleans())
PASSED = {AfterGate.PLAN_AGAIN, AfterGate.REVIEW, AfterGate.APPLY}


def stacks_before(stack):
    return STACKS[: STACKS.index(stack)]


class GatesInAnyOrder(RuleBasedStateMachine):
    """Rules are what may happen next. A message that somebody died over is delivered again."""

    def __init__(self):
        super().__init__()
        self.scenario = GateScenario()
        self.clicks = 0
        for root, stack in ROOTS:
            self.scenario.planned(root, stack, Waits(apply_after=stacks_before(stack)))

    def newest(self, root, stack):
        (enrolled,) = [each for each in self.scenario.change_sets.deployments(CHANGE) if each.root == root]
        assert enrolled.stack == stack
        return self.scenario.deployments.get(enrolled.deployment)

    def before(self, stack):
        return [self.newest(root, other) for root, other in ROOTS if other in stacks_before(stack)]

    def mortal(self, death, call):
        """Call, and die there; tell whether it came to its end."""
        if death is not None:
            self.scenario.fate.countdown, self.scenario.fate.after = death
        done = False
        with suppress(Died, ExceptionGroup):
            call()
            done = True
        self.scenario.fate.countdown = None
        return done

    @rule(member=MEMBERS, death=DEATHS)
    def comes_to_its_gate(self, member, death):
        """The state machine's wait is retried until it is kept, with a new token each time."""
        deployment = self.newest(*member)
        if deployment.state is not State.PLANNING:
            return
        if not self.mortal(death, lambda: self.scenario.waits(deployment, f"{deployment.id} dies")):
            self.scenario.waits(deployment, f"{deployment.id} again")

    @rule(member=MEMBERS, state=ENDS)
    def goes_on_and_ends(self, member, state):
        """Only what its gate let through goes on; its end is saved, and the change is asked to be looked at."""
        deployment = self.newest(*member)
        gate = deployment.gate
        if deployment.state is not State.GATED or gate is None or gate.next not in PASSED:
            return
        at = self.scenario.clock.now()
        if gate.next is AfterGate.PLAN_AGAIN:
            planning = (*deployment.history, Step(State.PLANNING, at))
            self.scenario.change(deployment, state=State.PLANNING, gate=None, history=planning)
            return
        self.scenario.change(deployment, state=state, changed_at=at, history=(*deployment.history, Step(state, at)))
        self.scenario.event_publisher.moved.append(CHANGE)

    @rule(member=MEMBERS)
    def runs_again(self, member):
        old = self.newest(*member)
        if is_final(old.state) and not is_done(old):
            at = self.scenario.clock.now()
            new = run_again(old, "main", "maintainer", at, at)
            step = (Step(State.PLANNING, at),)
            plan = replace(old.planned.plan, job=f"{new.id}-plan-1")
            self.scenario.queues.enqueue(new)
            self.scenario.change(new, state=State.PLANNING, plan=plan, plan_job=plan.job, history=step)
            self.scenario.enroll(*member, new.id, at)
            self.scenario.event_publisher.moved.append(CHANGE)

    @rule(member=MEMBERS)
    def a_newer_revision_is_applied_that_contains_it(self, member):
        old = self.newest(*member)
        if is_final(old.state) and not is_done(old):
            self.scenario.change(old, contained_by="newer", contained_at=self.scenario.clock.now())
            self.scenario.event_publisher.moved.append(CHANGE)

    @rule(member=MEMBERS, death=DEATHS)
    def is_rejected_at_its_gate(self, member, death):
        deployment = self.newest(*member)
        self.clicks += 1
        at = utc("2027-01-01") + timedelta(seconds=self.clicks)
        self.mortal(death, lambda: reject_gate(self.scenario.ports, deployment.id, "reviewer", at))

    @rule(member=MEMBERS)
    def ends_as_rejected(self, member):
        deployment = self.newest(*member)
        if deployment.outcome.ending is not None and not is_final(deployment.state):
            self.scenario.deployments.save(deployment.ended(deployment.outcome.ending))
            self.scenario.event_publisher.moved.append(CHANGE)

    @precondition(lambda self: self.scenario.event_publisher.moved)
    @rule(death=DEATHS)
    def a_message_is_delivered(self, death):
        messages = self.scenario.event_publisher.moved
        messages.pop()
        if not self.mortal(death, lambda: open_gates(self.scenario.ports, CHANGE)):
            messages.append(CHANGE)

    @rule(death=DEATHS)
    def the_reconciler_looks(self, death):
        self.mortal(death, lambda: open_gates(self.scenario.ports, CHANGE))

    @invariant()
    def nothing_that_goes_on_went_before_its_time(self):
        for deployment in self.scenario.deployments.all():
            gate = deployment.gate
            if deployment.state is State.GATED and gate is not None and gate.next in PASSED:
                # What was run again since may be under way: then it was done when the gate opened.
                ended = [each for each in self.before(deployment.stack) if each.request.at <= gate.at]
                assert all(is_done(each) for each in ended)

    def teardown(self):
        """Once all messages are delivered, everybody waits rightly or has the answer."""
        self.scenario.look()
        for deployment in [self.newest(*member) for member in ROOTS]:
            if deployment.state not in WAITING:
                continue
            before = self.before(deployment.stack)
            answer = self.scenario.answers.get(self.scenario.deployments.gate_token(deployment.id, deployment.gate.id))
            assert answer == deployment.gate.next
            if deployment.gate.next is None:
                is_bad = any(
                    each.state is State.BLOCKED or (is_final(each.state) and not is_done(each)) for each in before
                )
                assert deployment.state is (State.BLOCKED if is_bad else State.GATED)
                assert not all(is_done(each) for each in before)


TestGatesInAnyOrder = GatesInAnyOrder.TestCase
TestGatesInAnyOrder.settings = examples(40, stateful_step_count=60, suppress_health_check=list(HealthCheck))
