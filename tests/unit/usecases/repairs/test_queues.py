"""Queues whose worker ended unheard, that have work and no worker, or whose line nobody looks at."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, any_lock, any_root
from tidegate.deploys.queue.execution_closed import ClosedExecution
from tidegate.deploys.rules.deployment import Trigger
from tidegate.reconciler.refresh_lines import RefreshLines
from tidegate.reconciler.release_queues import WATCHED, ReleaseQueues
from tidegate.reconciler.start_workers import StartWorkers
from tidegate.rules.errors import CloudUnavailable


@pytest.fixture
def release(world):
    return ReleaseQueues(world.queues, world.workflows, world.released.append)


@pytest.fixture
def start(world):
    return StartWorkers(world.queues, world.woken.append)


def _enqueue(world, name="network"):
    return world.enqueue(any_deployment(id=f"merge-{name}", root=any_root(name=name)))


def test_a_queue_with_something_to_take_is_woken(world, start):
    world.enqueue(any_deployment())
    assert world.take_turn(start) == 1
    assert world.woken == [any_deployment().queue]


def test_a_queue_with_a_deployment_in_flight_is_woken(world, start):
    world.claim(any_deployment())
    assert world.take_turn(start) == 1


def test_a_locked_queue_sleeps_unless_a_manual_deployment_waits(world, start):
    world.lock(world.enqueue(any_deployment()), any_lock())
    assert world.take_turn(start) == 0
    world.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    assert world.take_turn(start) == 1


def test_a_queue_that_cannot_be_woken_keeps_no_other_from_it(world):
    broken, sound = any_deployment(), any_deployment(root=any_root(name="dns"))
    world.enqueue(broken)
    world.enqueue(sound)

    def ensure(queue):
        if queue == broken.queue:
            raise CloudUnavailable("Step Functions", "ThrottlingException")
        world.woken.append(queue)

    assert world.take_turn(StartWorkers(world.queues, ensure)) == 1
    assert world.woken == [sound.queue]
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]


@pytest.mark.parametrize("started", [True, False])
def test_a_queue_is_taken_from_an_execution_whose_end_nobody_heard_of(world, release, started):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1", started=started)
    world.workflows.start_deploy("worker-1", queue)
    assert world.take_turn(release) == 0
    world.workflows.endings["worker-1"] = "TIMED_OUT"
    assert world.take_turn(release) == 1
    assert world.released == [ClosedExecution(queue, "worker-1", "TIMED_OUT")]


def test_a_queue_that_nobody_works_on_is_taken_from_nobody(world, release):
    _enqueue(world)
    assert world.take_turn(release) == 0


def test_a_queue_is_taken_from_a_dead_execution_even_while_only_merges_wait_behind_its_lock(world, release):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.start_deploy("worker-1", queue)
    world.workflows.endings["worker-1"] = "ABORTED"
    world.lock(queue, any_lock())
    assert world.take_turn(release) == 1


def test_an_execution_that_is_unknown_has_ended_only_if_it_had_begun(world, release):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1", started=False)
    assert world.take_turn(release) == 0
    world.work_on(queue, "worker-1")
    assert world.take_turn(release) == 1


def test_when_it_cannot_be_told_whether_an_execution_runs_its_queue_stays_its_own(world, release):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.refusals = 1
    assert world.take_turn(release) == 0
    assert world.released == []
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]


@pytest.fixture
def refresh(world):
    return RefreshLines(world.queues, world.announcements)


def test_a_line_whose_message_was_lost_is_looked_at_again_once_in_a_run(world, refresh):
    queue = world.claim(any_deployment())
    world.enqueue(any_deployment(2))
    assert world.take_turn(refresh) == 1
    assert world.announcements.lines == [queue]


def test_a_lock_without_a_line_is_looked_at_and_a_deployment_that_runs_alone_is_not(world, refresh):
    queue = world.claim(any_deployment())
    assert world.take_turn(refresh) == 0
    world.lock(queue, any_lock())
    assert world.take_turn(refresh) == 1
    assert world.announcements.lines == [queue]


def test_with_many_queues_each_has_its_turn(world, release):
    for number in range(WATCHED + 50):
        world.work_on(_enqueue(world, f"root-{number}"), f"worker-{number}")
    assert world.take_turn(release) == WATCHED
    for _ in range(10):
        world.clock.advance(300)
        world.take_turn(release)
    assert len({closed.queue for closed in world.released}) == WATCHED + 50
