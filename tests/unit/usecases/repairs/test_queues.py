"""Queues whose worker ended unheard, that have work and no worker, or whose line nobody looks at."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, any_lock, any_root, deployment_in
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.reconciler.refresh_all_positions import refresh_all_positions
from tidegate.reconciler.release_queues import WATCHED, release_queues
from tidegate.reconciler.start_workers import start_workers
from tidegate.rules.errors import CloudUnavailable


def _enqueue(world, name="network"):
    return world.enqueue(any_deployment(id=f"merge-{name}", root=any_root(name=name)))


def test_a_queue_with_something_to_take_is_woken(world):
    world.enqueue(any_deployment())
    assert world.take_turn(start_workers) == 1
    assert world.started == [any_deployment().queue]


def test_a_queue_with_a_deployment_in_flight_is_woken(world):
    world.claim(any_deployment())
    assert world.take_turn(start_workers) == 1


def test_a_locked_queue_sleeps_unless_a_manual_deployment_waits(world):
    world.lock(world.enqueue(any_deployment()), any_lock())
    assert world.take_turn(start_workers) == 0
    world.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    assert world.take_turn(start_workers) == 1


def test_a_queue_that_cannot_be_woken_keeps_no_other_from_it(world):
    for name in ("network", "dns"):
        _enqueue(world, name)
    world.workflows.refusals = 1
    assert world.take_turn(start_workers) == 1
    assert len(world.started) == 1
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]


@pytest.mark.parametrize("started", [True, False])
def test_a_queue_is_taken_from_an_execution_whose_end_nobody_heard_of(world, started):
    planning = deployment_in(State.PLANNING)
    queue = world.claim(planning)
    world.deployments.save(planning)
    world.work_on(queue, "worker-1", started=started)
    world.workflows.start_deploy("worker-1", queue)
    assert world.take_turn(release_queues) == 0
    world.workflows.endings["worker-1"] = "TIMED_OUT"
    assert world.take_turn(release_queues) == 1
    assert world.worker(queue) is None
    assert "TIMED_OUT" in world.deployments.get(planning.id).reason


def test_a_queue_that_nobody_works_on_is_taken_from_nobody(world):
    _enqueue(world)
    assert world.take_turn(release_queues) == 0


def test_a_queue_is_taken_from_a_dead_execution_even_while_only_merges_wait_behind_its_lock(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.start_deploy("worker-1", queue)
    world.workflows.endings["worker-1"] = "ABORTED"
    world.lock(queue, any_lock())
    assert world.take_turn(release_queues) == 1
    assert world.worker(queue) is None


def test_an_execution_that_is_unknown_has_ended_only_if_it_had_begun(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1", started=False)
    assert world.take_turn(release_queues) == 0
    world.work_on(queue, "worker-1")
    assert world.take_turn(release_queues) == 1


def test_when_it_cannot_be_told_whether_an_execution_runs_its_queue_stays_its_own(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.refusals = 1
    assert world.take_turn(release_queues) == 0
    assert world.worker(queue) == "worker-1"
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]


def test_a_line_whose_message_was_lost_is_looked_at_again_once_in_a_run(world):
    queue = world.claim(any_deployment())
    world.enqueue(any_deployment(2))
    assert world.take_turn(refresh_all_positions) == 1
    assert world.event_publisher.lines == [queue]


def test_a_lock_without_a_line_is_looked_at_and_a_deployment_that_runs_alone_is_not(world):
    queue = world.claim(any_deployment())
    assert world.take_turn(refresh_all_positions) == 0
    world.lock(queue, any_lock())
    assert world.take_turn(refresh_all_positions) == 1
    assert world.event_publisher.lines == [queue]


def test_with_many_queues_each_has_its_turn(world):
    for number in range(WATCHED + 50):
        world.work_on(_enqueue(world, f"root-{number}"), f"worker-{number}")
    assert world.take_turn(release_queues) == WATCHED
    for _ in range(10):
        world.clock.advance(300)
        world.take_turn(release_queues)
    assert len(set(world.started)) == WATCHED + 50
