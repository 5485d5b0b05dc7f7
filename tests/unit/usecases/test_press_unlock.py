"""The button that unlocks a queue."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_lock, deployment_in
from tests.unit.usecases.press_world import PressedWorld
from tidegate.deploys.rules.queue_snapshot import Shown, Standing
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import CloudUnavailable
from tidegate.vcs.rules.check_run import Button


def test_unlock_on_the_deployment_that_locks_lets_the_queue_go_on_and_shows_it():
    deployment = deployment_in(State.OUTCOME_UNKNOWN)
    world = PressedWorld(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment.id))
    assert [action.button for action in world.shown.actions] == [Button.UNLOCK]
    assert world.press(Button.UNLOCK) == "unlocked"
    assert world.head.lock is None
    assert world.event_publisher.lines == [world.deployment.queue]
    world.publish()
    assert "Unlocked** by `reviewer` on 2026-03-02 10:00 UTC" in world.shown.summary


def test_unlock_on_a_deployment_that_a_lock_holds_back_unlocks_its_queue_and_starts_a_worker():
    world = PressedWorld(State.QUEUED, lock=any_lock(deployment="by-hand"))
    world.queues.enqueue(any_deployment(2, id="merge-2"))
    assert [action.button for action in world.shown.actions] == [Button.UNLOCK, Button.CANCEL]
    assert world.press(Button.UNLOCK) == "unlocked"
    assert world.head.lock is None
    assert [queue for _, queue in world.workflows.starts] == [world.deployment.queue]


def test_an_unlock_by_somebody_else_has_no_effect_and_hears_who_was_first():
    world = PressedWorld(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment_in(State.OUTCOME_UNKNOWN).id))
    world.press(Button.UNLOCK)
    unlocked = world.now
    world.press(Button.UNLOCK, by="maintainer")
    assert world.now == unlocked
    assert "no longer locked: reviewer unlocked it on 2026" in world.shown.summary


def test_an_unlock_on_a_deployment_that_nothing_holds_back_any_more_says_so_and_asks_for_the_newest_state():
    world = PressedWorld(State.QUEUED, lock=any_lock(deployment="by-hand"))
    world.queues.commit(world.head, replace(world.head, lock=None))
    world.boards.write(world.deployment.queue, {world.deployment.id: Shown(Standing(1), NOW)}, ())
    assert "not locked" in world.press(Button.UNLOCK)
    assert "This queue is not locked" in world.shown.summary
    assert world.shown.actions == ()
    assert world.forge.check_runs[2].title.startswith("Queued")


def test_an_unlock_whose_first_delivery_died_starts_the_worker_when_it_comes_again():
    world = PressedWorld(State.OUTCOME_UNKNOWN, lock=any_lock(deployment=deployment_in(State.OUTCOME_UNKNOWN).id))
    world.queues.enqueue(any_deployment(2, id="merge-2"))
    world.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.press(Button.UNLOCK)
    assert (world.head.lock, world.workflows.starts) == (None, [])
    assert world.press(Button.UNLOCK) == "unlocked"
    assert [queue for _, queue in world.workflows.starts] == [world.deployment.queue]
    assert "no effect" not in world.shown.summary


def test_somebody_without_write_permission_unlocks_nothing():
    world = PressedWorld(State.QUEUED, lock=any_lock(deployment="by-hand"))
    world.press(Button.UNLOCK, by="mallory")
    assert world.head.lock is not None
    assert "mallory needs write access to" in world.shown.summary
    assert [action.button for action in world.shown.actions] == [Button.UNLOCK, Button.CANCEL]


def test_a_deployment_that_a_lock_holds_back_is_cancelled_by_its_button():
    world = PressedWorld(State.QUEUED, lock=any_lock())
    assert world.press(Button.CANCEL) == "cancelled"
    assert world.now.state is State.CANCELLED


def test_nobody_cancels_by_a_button_who_may_not_decide_about_it():
    world = PressedWorld(State.QUEUED, lock=any_lock())
    assert world.press(Button.CANCEL, by="stranger").startswith("refused")
    assert world.now.state is State.QUEUED


def test_a_button_cancels_nothing_that_has_ended():
    world = PressedWorld(State.APPLIED)
    assert world.press(Button.CANCEL).startswith("refused")
    assert world.now.state is State.APPLIED
