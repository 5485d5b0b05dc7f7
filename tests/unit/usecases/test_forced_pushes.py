"""Pushes of which the forge does not tell whether they were forced: it is asked how the commits compare."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.unit.usecases.push_world import AFTER, World
from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.rules.comparison import Comparison

ZEROS = "0" * 40


@pytest.fixture
def world():
    return World()


def ids(world, told, **fields):
    world.receive("delivery-1", forced=told, **fields)
    return [each.id for each in world.enqueued]


@pytest.mark.parametrize("found", [Comparison.AHEAD, Comparison.IDENTICAL])
def test_who_adds_commits_forces_nothing(world, found):
    world.forge.comparisons[sha(1), AFTER] = found
    assert ids(world, None) == ids(World(), told=False)


@pytest.mark.parametrize("found", [Comparison.BEHIND, Comparison.DIVERGED, Comparison.BASE_MISSING])
def test_who_takes_commits_away_forces(world, found):
    world.forge.comparisons[sha(1), AFTER] = found
    assert ids(world, None) == ids(World(), told=True)


def test_the_first_push_of_a_branch_is_not_forced(world):
    assert ids(world, None, before=ZEROS) == ids(World(), told=False, before=ZEROS)
    assert world.forge.compared == []


def test_what_the_forge_tells_is_not_asked_for(world):
    ids(world, told=True)
    assert world.forge.compared == []


def test_while_the_forge_does_not_tell_nothing_is_decided(world):
    world.forge.failures.append(ForgeUnavailable("503"))
    with pytest.raises(ForgeUnavailable):
        world.receive(forced=None)
    assert world.enqueued == []
