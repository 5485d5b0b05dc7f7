from __future__ import annotations

import pytest

from tests.builders import deployment_in
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun
from tidegate.reconciler.show_check_runs import is_due, show_check_runs


def _changed(scenario, state, seconds_ago, shown=None):
    """Put a deployment that changed so long ago, and whose check run shows a version of it."""
    deployment = scenario.put(deployment_in(state, version=3, changed_at=scenario.clock.now()))
    if shown is not None:
        scenario.check_runs.remember(PublishedCheckRun(deployment.id, 1, shown, closed=False))
    scenario.clock.advance(seconds_ago)
    return deployment.id


@pytest.mark.parametrize("shown", [None, 2])
def test_a_check_run_that_stays_behind_is_asked_for_again(scenario, shown):
    deployment = _changed(scenario, State.PLANNING, 61, shown)
    assert scenario.take_turn(show_check_runs) == 1
    assert scenario.event_publisher.refreshed == [deployment]


def test_a_check_run_that_changes_at_this_moment_is_left_to_its_message(scenario):
    _changed(scenario, State.PLANNING, 59, shown=2)
    assert scenario.take_turn(show_check_runs) == 0


def test_a_check_run_that_shows_the_newest_state_needs_nothing(scenario):
    deployment = _changed(scenario, State.PLANNING, 3600, shown=3)
    assert scenario.take_turn(show_check_runs) == 0
    assert list(scenario.deployments.unshown()) == [deployment]


def test_an_end_that_is_shown_is_not_looked_at_any_more(scenario):
    _changed(scenario, State.APPLIED, 61, shown=3)
    assert scenario.take_turn(show_check_runs) == 0
    assert list(scenario.deployments.unshown()) == []


def test_an_end_that_is_not_shown_is_asked_for_again(scenario):
    _changed(scenario, State.APPLIED, 61, shown=2)
    assert scenario.take_turn(show_check_runs) == 1
    assert len(list(scenario.deployments.unshown())) == 1


def test_asking_twice_is_harmless_and_while_the_forge_is_down_it_is_asked_ever_more_rarely(scenario):
    _changed(scenario, State.PLANNING, 0)
    for _ in range(24 * 12):
        scenario.clock.advance(300)
        scenario.take_turn(show_check_runs)
    asked = len(scenario.event_publisher.refreshed)
    assert 5 < asked < 15


def test_a_record_that_has_expired_is_passed_over(scenario):
    scenario.deployments.unshown = lambda: ["gone"]
    assert scenario.take_turn(show_check_runs) == 0
    assert scenario.failures == []


def test_it_is_due_in_the_first_minutes_and_whenever_the_age_has_doubled():
    assert [age for age in range(0, 9000, 300) if is_due(age + 30)] == [300, 600, 1200, 2100, 3900, 7800]
