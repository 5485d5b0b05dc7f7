from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.gate_world import CHANGE, GateWorld
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.messages import WaitAtGate
from tidegate.rules.errors import Conflict, GateBlocked, NotFound, WrongState

LATE = utc("2026-03-02T20:00")


@pytest.fixture
def world():
    return GateWorld()


def test_a_planned_deployment_waits_while_another_stack_is_not_done(world):
    world.member("app", "dev", State.AWAITING_REVIEW)
    waiting = world.waits(world.planned())
    assert (waiting.state, waiting.reason) == (State.GATED, "Waiting for app (dev).")
    assert world.answers == {}
    assert world.deployments.gate_token(waiting.id, waiting.planned.plan.job) == "token"
    assert world.states()[-1] is State.GATED


def test_the_timeline_says_for_whom_it_began_to_wait(world):
    for root in ("app", "web"):
        world.member(root, "dev", State.AWAITING_REVIEW)
    waiting = world.waits(world.planned())
    assert waiting.history[-1].reason == "Waiting for app (dev) and web (dev)."
    world.ends(world.member("web", "dev", State.APPLYING), State.NO_CHANGES)
    assert world.now(waiting).history == waiting.history


def test_a_deployment_waits_before_its_plan_for_what_it_depends_on(world):
    world.member("network", "prod", State.APPLYING)
    waiting = world.waits(world.validated())
    assert (waiting.state, waiting.reason) == (State.GATED, "Waiting for network (prod).")


@pytest.mark.parametrize(
    ("come", "when", "next_"),
    [
        ("planned", PlanReview.ALWAYS, "review"),
        ("planned", PlanReview.NEVER, "apply"),
        ("validated", PlanReview.ALWAYS, "plan"),
    ],
)
def test_an_open_gate_is_passed_at_once(world, come, when, next_):
    world.member("app", "dev", State.NO_CHANGES)
    world.member("network", "prod", State.APPLIED)
    passed = world.waits(getattr(world, come)(review_rule=ReviewRule(when=when)))
    assert world.answers == {"token": next_}
    assert (passed.state, passed.gate.next) == (State.GATED, next_)


def test_what_is_not_in_the_change_is_not_waited_for(world):
    world.waits(world.planned(waits=Waits()))
    assert world.answers == {"token": "review"}


@pytest.mark.parametrize(
    ("come", "gone"), [("planned", "stack dev"), ("validated", "network (prod)")], ids=["a stack", "a root"]
)
def test_what_the_change_does_not_know_any_more_blocks(world, come, gone):
    waiting = world.waits(getattr(world, come)())
    assert (waiting.state, world.answers) == (State.BLOCKED, {})
    assert waiting.reason.startswith(f"The records of {gone} have expired")


def test_what_was_applied_since_is_planned_for_again(world):
    world.member("app", "dev", State.APPLIED, history=(), changed_at=LATE)
    world.waits(world.planned())
    assert world.answers == {"token": "plan again"}


def test_one_that_what_it_waits_for_may_stand_behind_in_line_has_the_change_looked_at(world):
    """It waits, and nobody who is to end can ask for that look: what it waits for is run again behind it."""
    world.member("app", "dev", State.QUEUED, shared=True)
    waiting = world.waits(world.planned("app", "prod", shared=True))
    assert waiting.state is State.GATED
    assert world.event_publisher.moved == [CHANGE]


def test_one_whose_gate_is_open_asks_for_no_look(world):
    world.member("app", "dev", State.NO_CHANGES, shared=True)
    world.waits(world.planned("app", "prod", shared=True))
    assert world.event_publisher.moved == []


def test_one_that_is_blocked_at_once_has_the_change_looked_at(world):
    world.member("app", "dev", State.PLAN_FAILED)
    blocked = world.waits(world.planned())
    assert (blocked.state, blocked.reason) == (State.BLOCKED, "app (dev) failed to plan.")
    assert world.event_publisher.moved == [CHANGE]
    assert world.answers == {}


def test_what_is_enrolled_and_not_enqueued_yet_is_waited_for(world):
    world.enroll("app", "dev", "not-enqueued-yet")
    assert world.waits(world.planned()).state is State.GATED


def test_a_retried_wait_is_answered_by_its_new_token(world):
    dev = world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned(), "first")
    assert world.waits(waiting, "second").gate == waiting.gate
    world.ends(dev, State.NO_CHANGES)
    assert world.answers == {"second": "review"}


def test_a_wait_that_comes_again_after_the_decision_hears_it(world):
    world.member("app", "dev", State.NO_CHANGES)
    waiting = world.waits(world.planned(), "first")
    world.waits(waiting, "second")
    assert world.answers == {"first": "review", "second": "review"}


@pytest.mark.parametrize(
    "come",
    [
        any_deployment(),
        deployment_in(State.APPLYING),
        deployment_in(State.PLANNING, plan_job="network-plan-1"),
        deployment_in(State.ENGINE_FAULT),
    ],
    ids=lambda deployment: deployment.state.value,
)
def test_what_is_elsewhere_is_not_held_back(world, come):
    world.put(come)
    with pytest.raises(WrongState):
        wait_at_gate(world.ports, WaitAtGate(deployment=come.id, token="token"))
    assert world.now(come) == come


def test_a_late_wait_for_an_earlier_plan_does_not_hold_back_the_next(world):
    planned = world.planned()
    planning = world.change(planned, plan_job=f"{planned.id}-plan-2")
    with pytest.raises(WrongState):
        wait_at_gate(world.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job))
    assert world.now(planned) == planning


def test_what_has_waited_too_often_stays_at_its_gate_and_is_refused(world):
    planned = world.planned()
    for _ in range(2):  # The call comes again.
        with pytest.raises(GateBlocked, match="waited 7 times"):
            wait_at_gate(
                world.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job, before=7)
            )
        assert world.now(planned).state is State.GATED
    with pytest.raises(NotFound):
        world.deployments.gate_token(planned.id, planned.planned.plan.job)


def test_the_seventh_wait_is_let_in(world):
    planned = world.planned()
    wait_at_gate(world.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job, before=6))
    assert world.deployments.gate_token(planned.id, planned.planned.plan.job) == "token"


def test_nothing_waits_that_does_not_exist(world):
    with pytest.raises(NotFound):
        wait_at_gate(world.ports, WaitAtGate(deployment="none", token="token"))


class _EndsMeanwhile:
    """The change sets, in which something ends just before they are read for the first time, and is looked at then."""

    def __init__(self, world, deployment):
        self.world, self.deployment = world, deployment

    def deployments(self, change_set):
        if self.deployment is not None:
            ended, self.deployment = self.deployment, None
            self.world.ends(ended, State.NO_CHANGES)
        return self.world.change_sets.deployments(change_set)


def test_what_ends_while_a_wait_begins_opens_the_gate_whoever_comes_first(world):
    dev = world.member("app", "dev", State.APPLYING)
    planned = world.planned()
    meanwhile = _EndsMeanwhile(world, dev)
    world.ports = changed(world.ports, change_sets=meanwhile)
    assert world.waits(planned).gate.next == "review"
    assert world.answers == {"token": "review"}


def test_a_late_copy_of_an_earlier_attempt_leaves_the_token_that_waits(world):
    world.member("app", "dev", State.APPLYING)
    planned = world.planned()
    gate = planned.planned.plan.job
    for retry in (1, 0):
        wait_at_gate(
            world.ports,
            WaitAtGate(deployment=planned.id, token=f"token-{retry}", job=gate, entered=NOW, retry=retry),
        )
    assert world.deployments.gate_token(planned.id, gate) == "token-1"
    assert world.states() == [State.GATED]


def test_a_late_copy_of_the_first_gate_leaves_the_token_of_the_second(world):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    with pytest.raises(WrongState):
        wait_at_gate(world.ports, WaitAtGate(deployment=waiting.id, token="late"))
    assert world.deployments.gate_token(waiting.id, waiting.planned.plan.job) == "token"


def test_others_that_keep_writing_are_an_error(world):
    world.member("app", "dev", State.APPLYING)
    planned = world.planned()

    class Busy:
        keep_gate_token, get = world.deployments.keep_gate_token, world.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    world.ports = changed(world.ports, deployments=Busy())
    with pytest.raises(Conflict):
        world.waits(planned)
