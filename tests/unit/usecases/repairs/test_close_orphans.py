from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_deployment, deployment_in
from tidegate.domain.deployment import State
from tidegate.domain.errors import Conflict
from tidegate.usecases.repairs.close_orphans import ORPHANED, CloseOrphans


@pytest.fixture
def repair(world):
    return CloseOrphans(
        world.queues, world.deployments, world.announcements, lambda *orphan: world.ended.append(orphan)
    )


def test_a_deployment_that_is_in_no_line_and_not_in_flight_is_ended_with_a_reason(world, repair):
    orphan = world.put(deployment_in(State.PLANNING))
    assert world.take_turn(repair) == 1
    assert world.ended == [(orphan, ORPHANED)]


def test_a_deployment_that_waits_for_its_turn_and_is_in_no_line_is_put_back_once(world, repair):
    orphan = world.put(any_deployment())
    assert world.take_turn(repair) == 1
    assert [waiting.deployment for waiting in world.queues.waiting(orphan.queue)] == [orphan.id]
    assert world.announcements.announced == [orphan]
    assert world.take_turn(repair) == 0
    assert len(world.queues.waiting(orphan.queue)) == 1


def test_what_is_in_line_or_in_flight_is_left_alone(world, repair):
    world.claim(any_deployment())
    world.enqueue(any_deployment(2))
    assert world.take_turn(repair) == 0


def test_what_has_ended_is_left_alone(world, repair):
    world.put(deployment_in(State.APPLIED))
    assert world.take_turn(repair) == 0


def test_what_ends_at_this_moment_is_left_alone(world, repair):
    orphan = world.put(deployment_in(State.PLANNING))
    read = world.queues.read

    def ends_meanwhile(queue):
        world.queues.read = read
        world.deployments.save(orphan.moved(State.NO_CHANGES, world.clock.now()))
        return read(queue)

    world.queues.read = ends_meanwhile
    assert world.take_turn(repair) == 0
    assert world.ended == []


def test_a_queue_that_changes_meanwhile_is_looked_at_again(world, repair):
    orphan = world.put(any_deployment())
    commit = world.queues.commit

    def changes_meanwhile(*arguments, **fields):
        world.queues.commit = commit
        raise Conflict(orphan.queue)

    world.queues.commit = changes_meanwhile
    assert world.take_turn(repair) == 1
    assert len(world.queues.waiting(orphan.queue)) == 1


def test_a_record_that_has_expired_is_passed_over(world, repair):
    world.deployments.unshown = lambda: ["gone"]
    assert world.take_turn(repair) == 0
    assert world.failures == []


def test_an_orphan_that_cannot_be_ended_keeps_no_other_from_it(world):
    first, second = (world.put(deployment_in(State.PLANNING, number)) for number in (1, 2))

    def end(orphan, _error):
        if orphan.id == first.id:
            raise Conflict(orphan.id)
        world.ended.append(replace(orphan))

    repair = CloseOrphans(world.queues, world.deployments, world.announcements, end)
    assert world.take_turn(repair) == 1
    assert world.ended == [second]
    assert len(world.failures) == 1
