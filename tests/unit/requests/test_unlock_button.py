"""The button that unlocks a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_lock, deployment_in
from tests.unit.requests.buttons import PressedScenario
from tidegate.deploys.rules.queue_snapshot import Shown, Standing
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import CloudUnavailable
from tidegate.vcs.rules.check_run import Button


def test_unlock_on_the_deployment_that_locks_lets_the_queue_go_on_and_shows_it():
    deployment = deployment_in(State.OUTCOME_UNKNOWN)
    scenario = PressedScenario(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment.id))
    assert [action.button for action in scenario.shown.actions] == [Button.UNLOCK]
    assert scenario.click(Button.UNLOCK) == "unlocked"
    assert scenario.head.lock is None
    assert scenario.event_publisher.lines == [scenario.deployment.queue]
    scenario.publish()
    assert "Unlocked** by `reviewer` on 2026-03-02 10:00 UTC" in scenario.shown.summary


def test_unlock_on_a_deployment_that_a_lock_holds_back_unlocks_its_queue_and_starts_a_worker():
    scenario = PressedScenario(State.QUEUED, lock=any_lock(deployment="by-hand"))
    scenario.queues.enqueue(any_deployment(2, id="merge-2"))
    assert [action.button for action in scenario.shown.actions] == [Button.UNLOCK, Button.CANCEL]
    assert scenario.click(Button.UNLOCK) == "unlocked"
    assert scenario.head.lock is None
    assert [queue for _, queue in scenario.workflows.starts] == [scenario.deployment.queue]


def test_an_unlock_by_somebody_else_has_no_effect_and_hears_who_was_first():
    scenario = PressedScenario(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment_in(State.OUTCOME_UNKNOWN).id))
    scenario.click(Button.UNLOCK)
    unlocked = scenario.now
    scenario.click(Button.UNLOCK, by="maintainer")
    assert scenario.now == unlocked
    assert "no longer locked: reviewer unlocked it on 2026" in scenario.shown.summary


def test_an_unlock_on_a_deployment_that_nothing_holds_back_any_more_says_so_and_asks_for_the_newest_state():
    scenario = PressedScenario(State.QUEUED, lock=any_lock(deployment="by-hand"))
    scenario.queues.commit(scenario.head, replace(scenario.head, lock=None))
    scenario.boards.write(scenario.deployment.queue, {scenario.deployment.id: Shown(Standing(1), NOW)}, ())
    assert "not locked" in scenario.click(Button.UNLOCK)
    assert "This queue is not locked" in scenario.shown.summary
    assert scenario.shown.actions == ()
    assert scenario.forge.check_runs[2].title.startswith("Queued")


def test_an_unlock_whose_first_delivery_died_starts_the_worker_when_it_comes_again():
    scenario = PressedScenario(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment_in(State.OUTCOME_UNKNOWN).id))
    scenario.queues.enqueue(any_deployment(2, id="merge-2"))
    scenario.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.click(Button.UNLOCK)
    assert (scenario.head.lock, scenario.workflows.starts) == (None, [])
    assert scenario.click(Button.UNLOCK) == "unlocked"
    assert [queue for _, queue in scenario.workflows.starts] == [scenario.deployment.queue]
    assert "no effect" not in scenario.shown.summary


def test_somebody_without_write_permission_unlocks_nothing():
    scenario = PressedScenario(State.QUEUED, lock=any_lock(deployment="by-hand"))
    scenario.click(Button.UNLOCK, by="mallory")
    assert scenario.head.lock is not None
    assert "mallory needs write access to" in scenario.shown.summary
    assert [action.button for action in scenario.shown.actions] == [Button.UNLOCK, Button.CANCEL]


def test_a_deployment_that_a_lock_holds_back_is_cancelled_by_its_button():
    scenario = PressedScenario(State.QUEUED, lock=any_lock())
    assert scenario.click(Button.CANCEL) == "cancelled"
    assert scenario.now.state is State.CANCELLED


def test_nobody_cancels_by_a_button_who_may_not_decide_about_it():
    scenario = PressedScenario(State.QUEUED, lock=any_lock())
    assert scenario.click(Button.CANCEL, by="stranger").startswith("refused")
    assert scenario.now.state is State.QUEUED


def test_a_button_cancels_nothing_that_has_ended():
    scenario = PressedScenario(State.APPLIED)
    assert scenario.click(Button.CANCEL).startswith("refused")
    assert scenario.now.state is State.APPLIED
