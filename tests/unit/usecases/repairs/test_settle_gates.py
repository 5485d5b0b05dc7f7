from __future__ import annotations

import pytest

from tests.builders import any_root, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.gate_world import CHANGE, GateWorld
from tests.unit.usecases.repairs.broken_world import BrokenWorld
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.gates.decide_gate import reject_gate, retry_gate
from tidegate.reconciler.settle_gates import settle_gates


class BrokenGates(GateWorld):
    """A change of which deployments wait, and a repair's turn."""

    take_turn = BrokenWorld.take_turn


@pytest.fixture
def world():
    return BrokenGates()


def test_a_gate_that_nobody_looked_at_when_it_could_open_is_opened(world):
    dev = world.member("app", "dev", State.APPLYING)
    world.waits(world.planned())
    world.change(dev, state=State.NO_CHANGES)
    assert world.take_turn(settle_gates) == 1
    assert world.answers == {"token": "review"}


def test_of_two_re_runs_of_one_root_the_older_goes_on_too(world):
    dev = world.member("app", "dev", State.APPLYING)
    older = world.waits(world.planned(trigger=Trigger.RERUN, requested_at=utc("2027-01-01"), rerun_of="first"), "older")
    world.enroll("app", "prod", "the one behind it", utc("2028-01-01"))
    world.ends(dev, State.NO_CHANGES)
    assert world.now(older).state is State.GATED
    assert world.take_turn(settle_gates) == 1
    assert world.answers == {"older": "review"}


def test_a_decision_whose_function_died_reaches_the_token(world):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    reject_gate(world.ports, waiting.id, "reviewer", utc("2027-01-01"))
    world.workflows.settled.clear()
    world.workflows.waiting.add("token")
    world.take_turn(settle_gates)
    assert world.answers == {"token": "rejected"}


def test_a_gate_that_rightly_waits_is_left_alone(world):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    assert world.take_turn(settle_gates) == 0
    assert world.now(waiting) == waiting


def test_each_change_is_looked_at_once_and_those_of_which_nobody_waits_not_at_all(world):
    world.member("app", "dev", State.APPLYING)
    looked = []
    members = world.change_sets.deployments
    world.change_sets.deployments = lambda change: looked.append(change) or members(change)
    world.take_turn(settle_gates)
    assert looked == []
    world.waits(world.planned("web"))
    world.waits(world.planned("db"))
    looked.clear()
    world.take_turn(settle_gates)
    assert looked == [CHANGE]


def test_deployments_that_have_gone_hold_up_nothing(world):
    world.deployments.unshown = lambda: ["gone"] * 101
    assert (world.take_turn(settle_gates), world.failures) == (0, [])


@pytest.fixture
def cycle(world):
    """``net`` (prod) waits for ``app`` (lab), behind ``app`` (qa), which waits for ``net`` (dev), behind the first."""
    behind = {
        root: deployment_in(State.QUEUED, number, root=any_root(name=root), stack=stack, change_set=CHANGE)
        for number, (root, stack) in enumerate({"net": "dev", "app": "lab"}.items(), 7)
    }
    for root, each in behind.items():
        world.enroll(root, each.stack, each.id)
    late = {"requested_at": utc("2027-01-01T00:00")}
    first = world.waits(world.planned("net", "prod", Waits(apply_after=("lab",)), shared=True), "first")
    newest = world.waits(world.planned("app", "qa", Waits(apply_after=("dev",)), shared=True, **late), "newest")
    for each in behind.values():
        world.queues.enqueue(each)
    return first, newest


def test_of_those_that_wait_for_each_other_one_is_blocked_and_says_why(world, cycle):
    first, newest = cycle
    world.take_turn(settle_gates)
    blocked = world.now(newest)
    assert (world.now(first).state, blocked.state) == (State.GATED, State.BLOCKED)
    assert blocked.reason.startswith(
        "These deployments wait for each other (a deadlock): this deployment waits for net (dev)"
    )
    assert retry_gate(world.ports, newest.id, "maintainer", utc("2027-01-01")).reason == blocked.reason
    world.take_turn(settle_gates)
    assert world.now(newest) == blocked


def test_once_others_can_go_on_nobody_is_blocked_for_that_any_more(world, cycle):
    first, newest = cycle
    world.take_turn(settle_gates)
    world.change(first, state=State.AWAITING_REVIEW, gate=None)
    world.take_turn(settle_gates)
    assert (world.now(newest).state, world.now(newest).gate.cycle) == (State.GATED, "")


class Earlier:
    """The records as they were when the cycle was found."""

    def __init__(self, deployments):
        self.unshown, self.get, self.save = deployments.unshown, deployments.get, deployments.save
        known = deployments.many(list(deployments.unshown()))
        self.many = lambda _: known


def test_who_is_answered_meanwhile_is_told_nothing(world, cycle):
    _, newest = cycle
    earlier = changed(world.ports, deployments=Earlier(world.deployments))
    reject_gate(world.ports, newest.id, "reviewer", utc("2027-01-01"))
    world.ports = earlier
    world.take_turn(settle_gates)
    assert (world.now(newest).gate.cycle, world.answers) == ("", {"newest": "rejected"})
