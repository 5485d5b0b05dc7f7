"""Changes with a root in two stacks, from merge to apply, with retries, re-runs, deaths and late messages: nothing goes
too early or twice, and whoever has not ended waits for somebody who can go on, and is seen.
"""

from __future__ import annotations

from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.chance import examples
from tests.unit.changes.change_scenario import ChangeScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.gate import WAITING
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.state import State, is_final

AFTER_DEV = Waits(apply_after=("dev",))
#: What merges change: ``net`` is in two stacks, ``app`` depends on it in one, ``web`` goes after these.
CHANGES = (
    (("net", "dev", Waits()), ("net", "prod", AFTER_DEV)),
    (("net", "dev", Waits()), ("app", "dev", Waits(roots=("net",))), ("net", "prod", AFTER_DEV)),
    (("net", "dev", Waits()), ("app", "dev", Waits(roots=("net",)))),
    (("app", "dev", Waits()), ("net", "prod", AFTER_DEV)),
    (("net", "dev", Waits()), ("net", "prod", AFTER_DEV), ("web", "prod", AFTER_DEV)),
)
INDEX = st.integers(0, 1000)
DEATHS = st.none() | st.none() | st.tuples(st.integers(0, 12), st.booleans())
OUTCOMES = st.sampled_from([State.APPLIED, State.APPLIED, State.NO_CHANGES, State.PLAN_FAILED, State.APPLY_FAILED])


class ChangesInAnyOrder(RuleBasedStateMachine):
    """Rules are what may happen next."""

    def __init__(self):
        super().__init__()
        self.scenario = ChangeScenario()
        self.merges = 0

    def _dies(self, death):
        if death is not None:
            self.scenario.fate.countdown, self.scenario.fate.after = death

    def _in(self, *states):
        return sorted((each for each in self.scenario.all() if each.state in states), key=lambda each: each.id)

    @precondition(lambda self: self.merges < 3)
    @rule(members=st.sampled_from(CHANGES), death=DEATHS)
    def merge(self, members, death):
        self.merges += 1
        self._dies(death)
        self.scenario.merge(self.merges, members, shared=("net",))

    @rule(index=INDEX, outcome=OUTCOMES, death=DEATHS)
    def step(self, index, outcome, death):
        executions = [*self.scenario.machines.workers.values(), *self.scenario.machines.children.values()]
        able = [each for each in executions if each.step != "end" and not each.step.startswith("waiting")]
        if able:
            self._dies(death)
            self.scenario.step(able[index % len(able)], outcome)

    @rule(outcome=OUTCOMES)
    def work(self, outcome):
        """Let all that is under way go on for a while; messages stay where they are."""
        for _ in range(12):
            for each in [*self.scenario.machines.workers.values(), *self.scenario.machines.children.values()]:
                self.scenario.step(each, outcome)

    @rule(index=INDEX, answer=st.sampled_from([Answer.APPROVE, Answer.APPROVE, Answer.REJECT]), death=DEATHS)
    def answer(self, index, answer, death):
        asked = self._in(State.AWAITING_REVIEW)
        if asked:
            self._dies(death)
            self.scenario.answer(asked[index % len(asked)], answer)

    @rule(index=INDEX, death=DEATHS)
    def retry(self, index, death):
        blocked = self._in(State.BLOCKED)
        if blocked:
            self._dies(death)
            self.scenario.retry(blocked[index % len(blocked)])

    @rule(index=INDEX, death=DEATHS)
    def reject(self, index, death):
        waiting = self._in(*WAITING)
        if waiting:
            self._dies(death)
            self.scenario.reject(waiting[index % len(waiting)])

    @rule(index=INDEX, death=DEATHS)
    def run_again(self, index, death):
        """The newest of a root in a stack of a change, if it ended: as the forge's button allows."""
        newest = [
            record for number in range(1, self.merges + 1) for _, record in self.scenario.newest(f"change-{number}")
        ]
        ended = [each for each in newest if each is not None and is_final(each.state)]
        if ended:
            self._dies(death)
            self.scenario.run_again(ended[index % len(ended)])

    @precondition(lambda self: self.scenario.unfinished)
    @rule(death=DEATHS)
    def deliver_again(self, death):
        self._dies(death)
        self.scenario.deliver(self.scenario.unfinished.pop(0))

    @precondition(lambda self: self.scenario.mail.moved)
    @rule(index=INDEX, twice=st.booleans(), death=DEATHS)
    def look(self, index, twice, death):
        if twice:
            self.scenario.mail.moved.append(self.scenario.mail.moved[index % len(self.scenario.mail.moved)])
        self._dies(death)
        self.scenario.look(index)

    @precondition(lambda self: self.scenario.mail.shown)
    @rule(index=INDEX, count=st.integers(1, 5), death=DEATHS)
    def show(self, index, count, death):
        self._dies(death)
        for _ in range(min(count, len(self.scenario.mail.shown))):
            self.scenario.show(index)

    def teardown(self):
        """All comes to rest without the reconciler, but for cycles of queues, one of which it blocks."""
        self.scenario.come_to_rest()
        self.scenario.check_awake()
        self.scenario.reconcile()
        self.scenario.come_to_rest()
        self.scenario.check_rest()


TestChangesInAnyOrder = ChangesInAnyOrder.TestCase
TestChangesInAnyOrder.settings = examples(60, stateful_step_count=40, suppress_health_check=list(HealthCheck))


def _of(scenario, root):
    """Return the newest deployment of a root of the first change."""
    return next(record for each, record in scenario.newest("change-1") if each.root == root)


def test_what_goes_before_and_is_run_again_during_a_review_is_waited_for_once_more():
    scenario = ChangeScenario()
    scenario.merge(1, (("app", "dev", Waits()), ("net", "prod", AFTER_DEV)), shared=())
    scenario.come_to_rest()
    scenario.answer(_of(scenario, "app"), Answer.APPROVE)
    scenario.come_to_rest()
    first = _of(scenario, "app")
    assert (first.state, _of(scenario, "net").state) == (State.APPLIED, State.AWAITING_REVIEW)
    scenario.run_again(first)
    scenario.come_to_rest()
    scenario.answer(_of(scenario, "net"), Answer.APPROVE)
    scenario.come_to_rest()
    assert (_of(scenario, "net").state, scenario.applied) == (State.GATED, [first.id])
    scenario.answer(_of(scenario, "app"), Answer.APPROVE)
    scenario.come_to_rest()
    scenario.answer(_of(scenario, "net"), Answer.APPROVE)
    scenario.come_to_rest()
    assert _of(scenario, "net").state is State.APPLIED
    assert scenario.applied == [first.id, _of(scenario, "app").id, _of(scenario, "net").id]
