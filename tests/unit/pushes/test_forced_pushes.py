"""Pushes of which the forge does not tell whether they were forced: it is asked how the commits compare."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.unit.pushes.push_scenario import AFTER, Scenario
from tidegate.rules.errors import ForgeUnavailable
from tidegate.vcs.rules.comparison import Comparison

ZEROS = "0" * 40


@pytest.fixture
def scenario():
    return Scenario()


def ids(scenario, told, **fields):
    scenario.receive("delivery-1", forced=told, **fields)
    return [each.id for each in scenario.enqueued]


@pytest.mark.parametrize("found", [Comparison.AHEAD, Comparison.IDENTICAL])
def test_who_adds_commits_forces_nothing(scenario, found):
    scenario.forge.comparisons[sha(1), AFTER] = found
    assert ids(scenario, None) == ids(Scenario(), told=False)


@pytest.mark.parametrize("found", [Comparison.BEHIND, Comparison.DIVERGED, Comparison.BASE_MISSING])
def test_who_takes_commits_away_forces(scenario, found):
    scenario.forge.comparisons[sha(1), AFTER] = found
    assert ids(scenario, None) == ids(Scenario(), told=True)


def test_the_first_push_of_a_branch_is_not_forced(scenario):
    assert ids(scenario, None, before=ZEROS) == ids(Scenario(), told=False, before=ZEROS)
    assert scenario.forge.compared == []


def test_what_the_forge_tells_is_not_asked_for(scenario):
    ids(scenario, told=True)
    assert scenario.forge.compared == []


def test_while_the_forge_does_not_tell_nothing_is_decided(scenario):
    scenario.forge.failures.append(ForgeUnavailable("503"))
    with pytest.raises(ForgeUnavailable):
        scenario.receive(forced=None)
    assert scenario.enqueued == []
