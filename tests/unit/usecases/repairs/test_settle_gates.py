from __future__ import annotations

import pytest

from tests.unit.usecases.gate_world import CHANGE, GateWorld
from tests.unit.usecases.repairs.broken_world import BrokenWorld
from tidegate.domain.deployment import State
from tidegate.usecases.repairs.settle_gates import SettleGates


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
    repair = SettleGates(world.deployments, lambda change: looked.append(change) or 0)
    world.take_turn(repair)
    world.waits(world.planned("web"))
    world.waits(world.planned("db"))
    world.take_turn(repair)
    assert looked == [CHANGE]


def test_deployments_that_have_gone_hold_up_nothing(world, repair):
    world.deployments.unshown = lambda: ["gone"] * 101
    assert (world.take_turn(repair), world.failures) == (0, [])
