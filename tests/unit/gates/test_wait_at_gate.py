from __future__ import annotations

import pytest

from tests.builders import NOW, any_deployment, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.gates.wait_at_gate import wait_at_gate
from tidegate.messages import WaitAtGate
from tidegate.rules.errors import Conflict, GateBlocked, NotFound, WrongState

LATE = utc("2026-03-02T20:00")


@pytest.fixture
def scenario():
    return GateScenario()


def test_a_planned_deployment_waits_while_another_stack_is_not_done(scenario):
    scenario.member("app", "dev", State.AWAITING_REVIEW)
    waiting = scenario.waits(scenario.planned())
    assert (waiting.state, waiting.reason) == (State.GATED, "Waiting for app (dev).")
    assert scenario.answers == {}
    assert scenario.deployments.gate_token(waiting.id, waiting.planned.plan.job) == "token"
    assert scenario.states()[-1] is State.GATED


def test_the_timeline_says_for_whom_it_began_to_wait(scenario):
    for root in ("app", "web"):
        scenario.member(root, "dev", State.AWAITING_REVIEW)
    waiting = scenario.waits(scenario.planned())
    assert waiting.history[-1].reason == "Waiting for app (dev) and web (dev)."
    scenario.ends(scenario.member("web", "dev", State.APPLYING), State.NO_CHANGES)
    assert scenario.now(waiting).history == waiting.history


def test_a_deployment_waits_before_its_plan_for_what_it_depends_on(scenario):
    scenario.member("network", "prod", State.APPLYING)
    waiting = scenario.waits(scenario.validated())
    assert (waiting.state, waiting.reason) == (State.GATED, "Waiting for network (prod).")


@pytest.mark.parametrize(
    ("come", "when", "next_"),
    [
        ("planned", PlanReview.ALWAYS, "review"),
        ("planned", PlanReview.NEVER, "apply"),
        ("validated", PlanReview.ALWAYS, "plan"),
    ],
)
def test_an_open_gate_is_passed_at_once(scenario, come, when, next_):
    scenario.member("app", "dev", State.NO_CHANGES)
    scenario.member("network", "prod", State.APPLIED)
    passed = scenario.waits(getattr(scenario, come)(review_rule=ReviewRule(when=when)))
    assert scenario.answers == {"token": next_}
    assert (passed.state, passed.gate.next) == (State.GATED, next_)


def test_what_is_not_in_the_change_is_not_waited_for(scenario):
    scenario.waits(scenario.planned(waits=Waits()))
    assert scenario.answers == {"token": "review"}


@pytest.mark.parametrize(
    ("come", "gone"), [("planned", "stack dev"), ("validated", "network (prod)")], ids=["a stack", "a root"]
)
def test_what_the_change_does_not_know_any_more_blocks(scenario, come, gone):
    waiting = scenario.waits(getattr(scenario, come)())
    assert (waiting.state, scenario.answers) == (State.BLOCKED, {})
    assert waiting.reason.startswith(f"The records of {gone} have expired")


def test_what_was_applied_since_is_planned_for_again(scenario):
    scenario.member("app", "dev", State.APPLIED, history=(), changed_at=LATE)
    scenario.waits(scenario.planned())
    assert scenario.answers == {"token": "plan again"}


def test_one_that_what_it_waits_for_may_stand_behind_in_line_has_the_change_looked_at(scenario):
    """It waits, and nobody who is to end can ask for that look: what it waits for is run again behind it."""
    scenario.member("app", "dev", State.QUEUED, shared=True)
    waiting = scenario.waits(scenario.planned("app", "prod", shared=True))
    assert waiting.state is State.GATED
    assert scenario.event_publisher.moved == [CHANGE]


def test_one_whose_gate_is_open_asks_for_no_look(scenario):
    scenario.member("app", "dev", State.NO_CHANGES, shared=True)
    scenario.waits(scenario.planned("app", "prod", shared=True))
    assert scenario.event_publisher.moved == []


def test_one_that_is_blocked_at_once_has_the_change_looked_at(scenario):
    scenario.member("app", "dev", State.PLAN_FAILED)
    blocked = scenario.waits(scenario.planned())
    assert (blocked.state, blocked.reason) == (State.BLOCKED, "app (dev) failed to plan.")
    assert scenario.event_publisher.moved == [CHANGE]
    assert scenario.answers == {}


def test_what_is_enrolled_and_not_enqueued_yet_is_waited_for(scenario):
    scenario.enroll("app", "dev", "not-enqueued-yet")
    assert scenario.waits(scenario.planned()).state is State.GATED


def test_a_retried_wait_is_answered_by_its_new_token(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned(), "first")
    assert scenario.waits(waiting, "second").gate == waiting.gate
    scenario.ends(dev, State.NO_CHANGES)
    assert scenario.answers == {"second": "review"}


def test_a_wait_that_comes_again_after_the_decision_hears_it(scenario):
    scenario.member("app", "dev", State.NO_CHANGES)
    waiting = scenario.waits(scenario.planned(), "first")
    scenario.waits(waiting, "second")
    assert scenario.answers == {"first": "review", "second": "review"}


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
def test_what_is_elsewhere_is_not_held_back(scenario, come):
    scenario.put(come)
    with pytest.raises(WrongState):
        wait_at_gate(scenario.ports, WaitAtGate(deployment=come.id, token="token"))
    assert scenario.now(come) == come


def test_a_late_wait_for_an_earlier_plan_does_not_hold_back_the_next(scenario):
    planned = scenario.planned()
    planning = scenario.change(planned, plan_job=f"{planned.id}-plan-2")
    with pytest.raises(WrongState):
        wait_at_gate(scenario.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job))
    assert scenario.now(planned) == planning


def test_what_has_waited_too_often_stays_at_its_gate_and_is_refused(scenario):
    planned = scenario.planned()
    for _ in range(2):  # The call comes again.
        with pytest.raises(GateBlocked, match="waited 7 times"):
            wait_at_gate(
                scenario.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job, before=7)
            )
        assert scenario.now(planned).state is State.GATED
    with pytest.raises(NotFound):
        scenario.deployments.gate_token(planned.id, planned.planned.plan.job)


def test_the_seventh_wait_is_let_in(scenario):
    planned = scenario.planned()
    wait_at_gate(
        scenario.ports, WaitAtGate(deployment=planned.id, token="token", job=planned.planned.plan.job, before=6)
    )
    assert scenario.deployments.gate_token(planned.id, planned.planned.plan.job) == "token"


def test_nothing_waits_that_does_not_exist(scenario):
    with pytest.raises(NotFound):
        wait_at_gate(scenario.ports, WaitAtGate(deployment="none", token="token"))


class _EndsMeanwhile:
    """The change sets, in which something ends just before they are read for the first time, and is looked at then."""

    def __init__(self, scenario, deployment):
        self.scenario, self.deployment = scenario, deployment

    def deployments(self, change_set):
        if self.deployment is not None:
            ended, self.deployment = self.deployment, None
            self.scenario.ends(ended, State.NO_CHANGES)
        return self.scenario.change_sets.deployments(change_set)


def test_what_ends_while_a_wait_begins_opens_the_gate_whoever_comes_first(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    planned = scenario.planned()
    meanwhile = _EndsMeanwhile(scenario, dev)
    scenario.ports = changed(scenario.ports, change_sets=meanwhile)
    assert scenario.waits(planned).gate.next == "review"
    assert scenario.answers == {"token": "review"}


def test_a_late_copy_of_an_earlier_attempt_leaves_the_token_that_waits(scenario):
    scenario.member("app", "dev", State.APPLYING)
    planned = scenario.planned()
    gate = planned.planned.plan.job
    for retry in (1, 0):
        wait_at_gate(
            scenario.ports,
            WaitAtGate(deployment=planned.id, token=f"token-{retry}", job=gate, entered=NOW, retry=retry),
        )
    assert scenario.deployments.gate_token(planned.id, gate) == "token-1"
    assert scenario.states() == [State.GATED]


def test_a_late_copy_of_the_first_gate_leaves_the_token_of_the_second(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    with pytest.raises(WrongState):
        wait_at_gate(scenario.ports, WaitAtGate(deployment=waiting.id, token="late"))
    assert scenario.deployments.gate_token(waiting.id, waiting.planned.plan.job) == "token"


def test_others_that_keep_writing_are_an_error(scenario):
    scenario.member("app", "dev", State.APPLYING)
    planned = scenario.planned()

    class Busy:
        keep_gate_token, get = scenario.deployments.keep_gate_token, scenario.deployments.get

        def save(self, deployment):
            raise Conflict(deployment.id)

    scenario.ports = changed(scenario.ports, deployments=Busy())
    with pytest.raises(Conflict):
        scenario.waits(planned)
