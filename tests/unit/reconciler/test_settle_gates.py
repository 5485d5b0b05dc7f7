from __future__ import annotations

import pytest

from tests.builders import any_root, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.gates.gate_scenario import CHANGE, GateScenario
from tests.unit.reconciler.reconciler_scenario import BrokenScenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import reject_gate, retry_gate
from tidegate.reconciler.settle_gates import settle_gates


class BrokenGates(GateScenario):
    """A change of which deployments wait, and a repair's turn."""

    take_turn = BrokenScenario.take_turn


@pytest.fixture
def scenario():
    return BrokenGates()


def test_a_gate_that_nobody_looked_at_when_it_could_open_is_opened(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    scenario.waits(scenario.planned())
    scenario.change(dev, state=State.NO_CHANGES)
    assert scenario.take_turn(settle_gates) == 1
    assert scenario.answers == {"token": "review"}


def test_of_two_re_runs_of_one_root_the_older_goes_on_too(scenario):
    dev = scenario.member("app", "dev", State.APPLYING)
    older = scenario.waits(
        scenario.planned(trigger=Trigger.RERUN, requested_at=utc("2027-01-01"), rerun_of="first"), "older"
    )
    scenario.enroll("app", "prod", "the one behind it", utc("2028-01-01"))
    scenario.ends(dev, State.NO_CHANGES)
    assert scenario.now(older).state is State.GATED
    assert scenario.take_turn(settle_gates) == 1
    assert scenario.answers == {"older": "review"}


def test_a_decision_whose_function_died_reaches_the_token(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    reject_gate(scenario.ports, waiting.id, "reviewer", utc("2027-01-01"))
    scenario.workflows.settled.clear()
    scenario.workflows.waiting.add("token")
    scenario.take_turn(settle_gates)
    assert scenario.answers == {"token": "rejected"}


def test_a_gate_that_rightly_waits_is_left_alone(scenario):
    scenario.member("app", "dev", State.APPLYING)
    waiting = scenario.waits(scenario.planned())
    assert scenario.take_turn(settle_gates) == 0
    assert scenario.now(waiting) == waiting


def test_each_change_is_looked_at_once_and_those_of_which_nobody_waits_not_at_all(scenario):
    scenario.member("app", "dev", State.APPLYING)
    looked = []
    members = scenario.change_sets.deployments
    scenario.change_sets.deployments = lambda change: looked.append(change) or members(change)
    scenario.take_turn(settle_gates)
    assert looked == []
    scenario.waits(scenario.planned("web"))
    scenario.waits(scenario.planned("db"))
    looked.clear()
    scenario.take_turn(settle_gates)
    assert looked == [CHANGE]


def test_deployments_that_have_gone_hold_up_nothing(scenario):
    scenario.deployments.unshown = lambda: ["gone"] * 101
    assert (scenario.take_turn(settle_gates), scenario.failures) == (0, [])


@pytest.fixture
def cycle(scenario):
    """``net`` (prod) waits for ``app`` (lab), behind ``app`` (qa), which waits for ``net`` (dev), behind the first."""
    behind = {
        root: deployment_in(State.QUEUED, number, root=any_root(name=root), stack=stack, change_set=CHANGE)
        for number, (root, stack) in enumerate({"net": "dev", "app": "lab"}.items(), 7)
    }
    for root, each in behind.items():
        scenario.enroll(root, each.stack, each.id)
    late = {"requested_at": utc("2027-01-01T00:00")}
    first = scenario.waits(scenario.planned("net", "prod", Waits(apply_after=("lab",)), shared=True), "first")
    newest = scenario.waits(scenario.planned("app", "qa", Waits(apply_after=("dev",)), shared=True, **late), "newest")
    for each in behind.values():
        scenario.queues.enqueue(each)
    return first, newest


def test_of_those_that_wait_for_each_other_one_is_blocked_and_says_why(scenario, cycle):
    first, newest = cycle
    scenario.take_turn(settle_gates)
    blocked = scenario.now(newest)
    assert (scenario.now(first).state, blocked.state) == (State.GATED, State.BLOCKED)
    assert blocked.reason.startswith(
        "These deployments wait for each other (a deadlock): this deployment waits for net (dev)"
    )
    assert retry_gate(scenario.ports, newest.id, "maintainer", utc("2027-01-01")).reason == blocked.reason
    scenario.take_turn(settle_gates)
    assert scenario.now(newest) == blocked


def test_once_others_can_go_on_nobody_is_blocked_for_that_any_more(scenario, cycle):
    first, newest = cycle
    scenario.take_turn(settle_gates)
    scenario.change(first, state=State.AWAITING_REVIEW, gate=None)
    scenario.take_turn(settle_gates)
    assert (scenario.now(newest).state, scenario.now(newest).gate.cycle) == (State.GATED, "")


class Earlier:
    """The records as they were when the cycle was found."""

    def __init__(self, deployments):
        self.unshown, self.get, self.save = deployments.unshown, deployments.get, deployments.save
        known = deployments.many(list(deployments.unshown()))
        self.many = lambda _: known


def test_who_is_answered_meanwhile_is_told_nothing(scenario, cycle):
    _, newest = cycle
    earlier = changed(scenario.ports, deployments=Earlier(scenario.deployments))
    reject_gate(scenario.ports, newest.id, "reviewer", utc("2027-01-01"))
    scenario.ports = earlier
    scenario.take_turn(settle_gates)
    assert (scenario.now(newest).gate.cycle, scenario.answers) == ("", {"newest": "rejected"})
