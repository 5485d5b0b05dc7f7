from __future__ import annotations

import pytest

from tests.builders import any_root, deployment_in
from tests.unit.usecases.gate_world import CHANGE, GateWorld
from tests.unit.usecases.repairs.broken_world import BrokenWorld
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.deployment import State, Trigger
from tidegate.reconciler.settle_gates import SettleGates


class BrokenGates(BrokenWorld, GateWorld):
    """A change of which deployments wait, and a repair's turn."""


@pytest.fixture
def world():
    return BrokenGates()


@pytest.fixture
def repair(world):
    return SettleGates(world.deployments, world.opener.open)


def test_a_gate_that_nobody_looked_at_when_it_could_open_is_opened(world, repair):
    dev = world.member("app", "dev", State.APPLYING)
    world.waits(world.planned())
    world.change(dev, state=State.NO_CHANGES)
    assert world.take_turn(repair) == 1
    assert world.answers == {"token": "review"}


def test_of_two_re_runs_of_one_root_the_older_goes_on_too(world, repair):
    dev = world.member("app", "dev", State.APPLYING)
    older = world.waits(world.planned(trigger=Trigger.RERUN, requested_at="2027", rerun_of="first"), "older")
    world.enroll("app", "prod", "the one behind it", "2028")
    world.ends(dev, State.NO_CHANGES)
    assert world.now(older).state is State.GATED
    assert world.take_turn(repair) == 1
    assert world.answers == {"older": "review"}


def test_a_decision_whose_function_died_reaches_the_token(world, repair):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    world.decider.reject(waiting.id, "reviewer", "2027")
    world.workflows.settled.clear()
    world.workflows.waiting.add("token")
    world.take_turn(repair)
    assert world.answers == {"token": "rejected"}


def test_a_gate_that_rightly_waits_is_left_alone(world, repair):
    world.member("app", "dev", State.APPLYING)
    waiting = world.waits(world.planned())
    assert world.take_turn(repair) == 0
    assert world.now(waiting) == waiting


def test_each_change_is_looked_at_once_and_those_of_which_nobody_waits_not_at_all(world):
    world.member("app", "dev", State.APPLYING)
    looked = []
    repair = SettleGates(world.deployments, lambda change, _: looked.append(change) or 0)
    world.take_turn(repair)
    world.waits(world.planned("web"))
    world.waits(world.planned("db"))
    world.take_turn(repair)
    assert looked == [CHANGE]


def test_deployments_that_have_gone_hold_up_nothing(world, repair):
    world.deployments.unshown = lambda: ["gone"] * 101
    assert (world.take_turn(repair), world.failures) == (0, [])


@pytest.fixture
def cycle(world):
    """``net`` (prod) waits for ``app`` (lab), behind ``app`` (qa), which waits for ``net`` (dev), behind the first."""
    behind = {
        root: deployment_in(State.QUEUED, number, root=any_root(name=root), stack=stack, change_set=CHANGE)
        for number, (root, stack) in enumerate({"net": "dev", "app": "lab"}.items(), 7)
    }
    for root, each in behind.items():
        world.enroll(root, each.stack, each.id)
    late = {"requested_at": "2027-01-01T00:00:00+00:00"}
    first = world.waits(world.planned("net", "prod", Waits(apply_after=("lab",)), shared=True), "first")
    newest = world.waits(world.planned("app", "qa", Waits(apply_after=("dev",)), shared=True, **late), "newest")
    for each in behind.values():
        world.queues.enqueue(each)
    return first, newest


def test_of_those_that_wait_for_each_other_one_is_blocked_and_says_why(world, repair, cycle):
    first, newest = cycle
    world.take_turn(repair)
    blocked = world.now(newest)
    assert (world.now(first).state, blocked.state) == (State.GATED, State.BLOCKED)
    assert blocked.reason.startswith("None of these goes on by itself: this one waits for net (dev)")
    assert world.decider.retry(newest.id, "maintainer", "2027").reason == blocked.reason
    world.take_turn(repair)
    assert world.now(newest) == blocked


def test_once_others_can_go_on_nobody_is_blocked_for_that_any_more(world, repair, cycle):
    first, newest = cycle
    world.take_turn(repair)
    world.change(first, state=State.AWAITING_REVIEW, gate=None)
    world.take_turn(repair)
    assert (world.now(newest).state, world.now(newest).gate.cycle) == (State.GATED, "")


class Earlier:
    """The records as they were when the cycle was found."""

    def __init__(self, deployments):
        self.unshown, self.get, self.save = deployments.unshown, deployments.get, deployments.save
        known = deployments.many(list(deployments.unshown()))
        self.many = lambda _: known


def test_who_is_answered_meanwhile_is_told_nothing(world, cycle):
    _, newest = cycle
    repair = SettleGates(Earlier(world.deployments), world.opener.open)
    world.decider.reject(newest.id, "reviewer", "2027")
    world.take_turn(repair)
    assert (world.now(newest).gate.cycle, world.answers) == ("", {"newest": "rejected"})
