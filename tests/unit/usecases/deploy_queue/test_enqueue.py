"""A deployment that is put in line, and the worker that it gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_lock
from tests.fakes.ports import changed
from tests.unit.usecases.deploy_queue.world import QUEUE, manual
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.rules.decide_again import TRIES, deciding_again
from tidegate.rules.errors import CloudUnavailable, Conflict, OversizedRecord


def test_an_enqueued_deployment_is_announced_and_gets_a_worker(world):
    assert world.enqueue(any_deployment())
    assert world.event_publisher.announced == [any_deployment().begun()]
    assert world.event_publisher.lines == [QUEUE]
    assert world.workflows.starts == [(world.head.worker.execution, QUEUE)]


def test_enqueued_twice_a_deployment_is_in_line_once_and_shown_as_it_is(world):
    world.enqueue(any_deployment())
    stored = world.deployments.save(replace(any_deployment().begun(), reason="Something happened."))
    assert not world.enqueue(any_deployment())
    assert world.line == [any_deployment().id]
    assert world.event_publisher.announced[-1] == stored
    assert len(world.workflows.starts) == 1


class Small:
    """Queues that take no record with a long text in it, as the table takes none of more than 400 KB."""

    def __init__(self, queues):
        self._queues = queues

    def __getattr__(self, name):
        return getattr(self._queues, name)

    def enqueue(self, deployment, seen=None):
        if len(repr(deployment)) > 10_000:
            raise OversizedRecord(deployment.id)
        return self._queues.enqueue(deployment, seen)


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_is_too_large_to_be_stored_is_refused_with_what_to_do(world, is_seen):
    large = any_deployment(why="x" * 20_000, waits=Waits(roots=tuple(f"root-{number}" for number in range(2000))))
    seen = world.queues.read(QUEUE) if is_seen else None
    enqueue(changed(world.ports, queues=Small(world.queues)), large, seen)
    world.claim()
    assert not world.validate(large).allowed
    refused = world.deployments.get(large.id)
    assert refused.state is State.REFUSED
    assert refused.reason.startswith("The record of this deployment exceeds")


class Reads:
    """Queues that count how often they are read."""

    def __init__(self, queues):
        self._queues, self.count = queues, 0

    def __getattr__(self, name):
        self.count += name == "read"
        return getattr(self._queues, name)


def counting(world):
    """Return the world's ports with queues that count their reads, and these queues."""
    reads = Reads(world.queues)
    return changed(world.ports, queues=reads), reads


def test_a_queue_that_was_seen_is_not_read_again_to_start_its_worker(world):
    ports, reads = counting(world)
    assert enqueue(ports, any_deployment(), world.queues.read(QUEUE))
    assert world.workflows.starts == [(world.head.worker.execution, QUEUE)]
    assert reads.count == 0


def test_a_queue_that_was_seen_is_not_read_again_to_wake_its_worker(idle):
    ports, reads = counting(idle)
    assert enqueue(ports, any_deployment(2), idle.queues.read(QUEUE))
    assert list(idle.workflows.settled) == ["token"]
    assert reads.count == 0


def test_a_worker_that_waits_since_its_queue_was_seen_is_woken(world):
    seen = world.queues.read(QUEUE)
    world.in_flight(any_deployment())
    world.change(in_flight=None, token="token")
    world.workflows.waiting.add("token")
    assert world.enqueue(any_deployment(2), seen)
    assert list(world.workflows.settled) == ["token"]


def test_enqueued_twice_upon_what_was_seen_a_deployment_is_in_line_once_and_has_a_worker(world):
    seen = world.queues.read(QUEUE)
    world.queues.enqueue(any_deployment())
    assert not world.enqueue(any_deployment(), seen)
    assert world.line == [any_deployment().id]
    assert len(world.workflows.starts) == 1


def test_a_worker_is_woken_for_who_was_seen_in_line_before_a_merge_that_a_lock_holds_back(idle):
    idle.change(lock=any_lock())
    idle.queues.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    idle.enqueue(any_deployment(3), idle.queues.read(QUEUE))
    assert list(idle.workflows.settled) == ["token"]


def test_a_queue_that_changes_before_its_worker_is_written_is_read_again(world):
    class Busy(Reads):
        def commit(self, *arguments, **named):
            if self.count == 0:
                raise Conflict(QUEUE)
            return self._queues.commit(*arguments, **named)

    ports = changed(world.ports, queues=Busy(world.queues))
    assert enqueue(ports, any_deployment(), world.queues.read(QUEUE))
    assert len(world.workflows.starts) == 1


def test_a_throttled_start_is_made_up_for_when_the_message_comes_again(world):
    world.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.enqueue(any_deployment())
    assert world.workflows.starts == []
    world.enqueue(any_deployment())
    assert world.workflows.starts == [(world.head.worker.execution, QUEUE)]
    assert world.head.generation == 1


def test_a_worker_at_work_is_left_alone(world):
    world.in_flight(any_deployment())
    world.enqueue(any_deployment(2))
    assert len(world.workflows.starts) == 1
    assert world.workflows.settled == {}


def test_a_waiting_worker_is_woken(idle):
    idle.enqueue(any_deployment(2))
    assert list(idle.workflows.settled) == ["token"]


def test_a_throttled_wake_up_is_made_up_for(idle):
    idle.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        idle.enqueue(any_deployment(2))
    ensure_worker(idle.ports, QUEUE)
    assert list(idle.workflows.settled) == ["token"]


def test_a_wake_up_that_comes_too_late_is_no_error(idle):
    idle.workflows.waiting.clear()
    idle.enqueue(any_deployment(2))
    assert idle.line == [any_deployment(2).id]


def test_a_locked_queue_does_not_wake_its_worker_for_a_merge(idle):
    idle.change(lock=any_lock())
    idle.enqueue(any_deployment(2))
    assert idle.workflows.settled == {}
    idle.enqueue(any_deployment(3, trigger=Trigger.MANUAL))
    assert list(idle.workflows.settled) == ["token"]


def test_an_empty_queue_gets_no_worker(world):
    ensure_worker(world.ports, QUEUE)
    assert world.workflows.starts == []


def test_a_forced_deploy_is_audited_before_it_is_in_line(world):
    forced = manual(forced=True)
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.enqueue(forced)
    assert world.line == []
    world.audit.unavailable = False
    world.enqueue(forced)
    assert world.audit.states == ["FORCED"]
    assert [audited.state for audited in world.deployments.get(forced.id).audited] == ["FORCED"]


def test_a_decision_is_made_again_after_conflicts_and_not_forever():
    tries = []

    def decide(conflicts):
        tries.append(NOW)
        if len(tries) <= conflicts:
            raise Conflict("The queue")
        return "decided"

    assert deciding_again(lambda: decide(TRIES - 1)) == "decided"
    tries.clear()
    with pytest.raises(Conflict):
        deciding_again(lambda: decide(TRIES))
    assert len(tries) == TRIES
