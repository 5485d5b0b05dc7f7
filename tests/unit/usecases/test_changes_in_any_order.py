"""Changes with a root in two stacks, from merge to apply, with retries, re-runs, deaths and late messages: nothing goes
too early or twice, and whoever has not ended waits for somebody who can go on, and is seen.
"""

from __future__ import annotations

from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from tests.chance import examples
from tests.unit.usecases.change_world import ChangeWorld
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
        self.world = ChangeWorld()
        self.merges = 0

    def _dies(self, death):
        if death is not None:
            self.world.fate.countdown, self.world.fate.after = death

    def _in(self, *states):
        return sorted((each for each in self.world.all() if each.state in states), key=lambda each: each.id)

    @precondition(lambda self: self.merges < 3)
    @rule(members=st.sampled_from(CHANGES), death=DEATHS)
    def merge(self, members, death):
        self.merges += 1
        self._dies(death)
        self.world.merge(self.merges, members, shared=("net",))

    @rule(index=INDEX, outcome=OUTCOMES, death=DEATHS)
    def step(self, index, outcome, death):
        executions = [*self.world.machines.workers.values(), *self.world.machines.children.values()]
        able = [each for each in executions if each.step != "end" and not each.step.startswith("waiting")]
        if able:
            self._dies(death)
            self.world.step(able[index % len(able)], outcome)

    @rule(outcome=OUTCOMES)
    def work(self, outcome):
        """Let all that is under way go on for a while; messages stay where they are."""
        for _ in range(12):
            for each in [*self.world.machines.workers.values(), *self.world.machines.children.values()]:
                self.world.step(each, outcome)

    @rule(index=INDEX, answer=st.sampled_from([Answer.APPROVE, Answer.APPROVE, Answer.REJECT]), death=DEATHS)
    def answer(self, index, answer, death):
        asked = self._in(State.AWAITING_REVIEW)
        if asked:
            self._dies(death)
            self.world.answer(asked[index % len(asked)], answer)

    @rule(index=INDEX, death=DEATHS)
    def retry(self, index, death):
        blocked = self._in(State.BLOCKED)
        if blocked:
            self._dies(death)
            self.world.retry(blocked[index % len(blocked)])

    @rule(index=INDEX, death=DEATHS)
    def reject(self, index, death):
        waiting = self._in(*WAITING)
        if waiting:
            self._dies(death)
            self.world.reject(waiting[index % len(waiting)])

    @rule(index=INDEX, death=DEATHS)
    def run_again(self, index, death):
        """The newest of a root in a stack of a change, if it ended: as the forge's button allows."""
        newest = [record for number in range(1, self.merges + 1) for _, record in self.world.newest(f"change-{number}")]
        ended = [each for each in newest if each is not None and is_final(each.state)]
        if ended:
            self._dies(death)
            self.world.run_again(ended[index % len(ended)])

    @precondition(lambda self: self.world.unfinished)
    @rule(death=DEATHS)
    def deliver_again(self, death):
        self._dies(death)
        self.world.deliver(self.world.unfinished.pop(0))

    @precondition(lambda self: self.world.mail.moved)
    @rule(index=INDEX, twice=st.booleans(), death=DEATHS)
    def look(self, index, twice, death):
        if twice:
            self.world.mail.moved.append(self.world.mail.moved[index % len(self.world.mail.moved)])
        self._dies(death)
        self.world.look(index)

    @precondition(lambda self: self.world.mail.shown)
    @rule(index=INDEX, count=st.integers(1, 5), death=DEATHS)
    def show(self, index, count, death):
        self._dies(death)
        for _ in range(min(count, len(self.world.mail.shown))):
            self.world.show(index)

    def teardown(self):
        """All comes to rest without the reconciler, but for cycles of queues, one of which it blocks."""
        self.world.come_to_rest()
        self.world.check_awake()
        self.world.reconcile()
        self.world.come_to_rest()
        self.world.check_rest()


TestChangesInAnyOrder = ChangesInAnyOrder.TestCase
TestChangesInAnyOrder.settings = examples(60, stateful_step_count=40, suppress_health_check=list(HealthCheck))


def _of(world, root):
    """Return the newest deployment of a root of the first change."""
    return next(record for each, record in world.newest("change-1") if each.root == root)


def test_what_goes_before_and_is_run_again_during_a_review_is_waited_for_once_more():
    world = ChangeWorld()
    world.merge(1, (("app", "dev", Waits()), ("net", "prod", AFTER_DEV)), shared=())
    world.come_to_rest()
    world.answer(_of(world, "app"), Answer.APPROVE)
    world.come_to_rest()
    first = _of(world, "app")
    assert (first.state, _of(world, "net").state) == (State.APPLIED, State.AWAITING_REVIEW)
    world.run_again(first)
    world.come_to_rest()
    world.answer(_of(world, "net"), Answer.APPROVE)
    world.come_to_rest()
    assert (_of(world, "net").state, world.applied) == (State.GATED, [first.id])
    world.answer(_of(world, "app"), Answer.APPROVE)
    world.come_to_rest()
    world.answer(_of(world, "net"), Answer.APPROVE)
    world.come_to_rest()
    assert _of(world, "net").state is State.APPLIED
    assert world.applied == [first.id, _of(world, "app").id, _of(world, "net").id]
