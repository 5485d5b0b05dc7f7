from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_delivery, any_deployment, any_lock, any_root
from tests.unit.usecases.terraform_world import World
from tidegate.adapters.memory import MemoryDeliveries, MemoryEventQueue
from tidegate.domain.deployment import Trigger
from tidegate.domain.errors import CloudUnavailable
from tidegate.domain.queue import Worker
from tidegate.usecases.execution_closed import ClosedExecution
from tidegate.usecases.reconcile import WATCHED, Reconciler, Repairs


class ReconciledWorld(World):
    def __init__(self):
        super().__init__()
        self.deliveries, self.events, self.woken, self.released = MemoryDeliveries(), MemoryEventQueue(), [], []

    def reconcile(self, ensure=None):
        ports = self.deliveries, self.events, self.queues, self.clock, self.workflows
        return Reconciler(*ports, self.released.append, ensure or self.woken.append).reconcile()

    def work_on(self, queue, execution, *, started=True):
        """Let an execution be the queue's worker."""
        head, _ = self.queues.read(queue)
        self.queues.commit(head, replace(head, worker=Worker(execution, 1, started)))


@pytest.fixture
def world():
    return ReconciledWorld()


def test_a_delivery_that_was_stored_and_never_queued_is_sent_again_once(world):
    world.deliveries.store(any_delivery())
    assert world.reconcile() == Repairs(1, 0)
    assert world.events.sent == [any_delivery()]
    assert world.reconcile() == Repairs(0, 0)


def test_a_delivery_that_has_just_been_stored_is_left_to_its_webhook(world):
    world.clock.at = NOW
    world.clock.advance(59)
    world.deliveries.store(any_delivery())
    assert world.reconcile() == Repairs(0, 0)
    world.clock.advance(2)
    assert world.reconcile() == Repairs(1, 0)


def test_a_delivery_that_was_queued_is_not_sent_again(world):
    world.deliveries.store(any_delivery())
    world.deliveries.mark_queued(any_delivery().id)
    assert world.reconcile() == Repairs(0, 0)


def test_a_delivery_that_could_not_be_sent_is_sent_the_next_time(world):
    world.deliveries.store(any_delivery())
    world.events.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.reconcile()
    assert world.reconcile() == Repairs(1, 0)


def test_a_queue_with_something_to_take_is_woken(world):
    world.queues.enqueue(any_deployment())
    assert world.reconcile() == Repairs(0, 1)
    assert world.woken == [any_deployment().queue]


def test_a_queue_with_a_deployment_in_flight_is_woken(world):
    deployment = any_deployment()
    world.queues.enqueue(deployment)
    head, first = world.queues.read(deployment.queue)
    world.queues.commit(head, replace(head, in_flight=deployment.id), take=first)
    assert world.reconcile() == Repairs(0, 1)


def test_a_locked_queue_sleeps_unless_a_manual_deployment_waits(world):
    world.queues.enqueue(any_deployment())
    head, _ = world.queues.read(any_deployment().queue)
    world.queues.commit(head, replace(head, lock=any_lock()))
    assert world.reconcile() == Repairs(0, 0)
    world.queues.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    assert world.reconcile() == Repairs(0, 1)


def test_a_queue_that_cannot_be_woken_keeps_nothing_else_from_repair(world):
    world.deliveries.store(any_delivery())
    broken, sound = any_deployment(), any_deployment(root=any_root(name="dns"))
    world.queues.enqueue(broken)
    world.queues.enqueue(sound)

    def ensure(queue):
        if queue == broken.queue:
            raise CloudUnavailable("Step Functions", "ThrottlingException")
        world.woken.append(queue)

    with pytest.raises(CloudUnavailable):
        world.reconcile(ensure)
    assert world.woken == [sound.queue]
    assert len(world.events.sent) == 1


def _enqueue(world, name="network"):
    deployment = any_deployment(id=f"merge-{name}", root=any_root(name=name))
    assert world.queues.enqueue(deployment)
    return deployment.queue


@pytest.mark.parametrize("started", [True, False])
def test_a_queue_is_taken_from_an_execution_whose_end_nobody_heard_of(world, started):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1", started=started)
    world.workflows.start_deploy("worker-1", queue)
    assert world.reconcile() == Repairs(0, 1)
    world.workflows.endings["worker-1"] = "TIMED_OUT"
    assert world.reconcile() == Repairs(0, 1, 1)
    assert world.released == [ClosedExecution(queue, "worker-1", "TIMED_OUT")]


def test_a_queue_is_taken_from_a_dead_execution_even_while_only_merges_wait_behind_its_lock(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.start_deploy("worker-1", queue)
    world.workflows.endings["worker-1"] = "ABORTED"
    head, _ = world.queues.read(queue)
    world.queues.commit(head, replace(head, lock=any_lock()))
    assert world.reconcile() == Repairs(0, 0, 1)


def test_an_execution_that_is_unknown_has_ended_only_if_it_had_begun(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1", started=False)
    assert world.reconcile() == Repairs(0, 1)
    world.work_on(queue, "worker-1")
    assert world.reconcile() == Repairs(0, 1, 1)


def test_when_it_cannot_be_told_whether_an_execution_runs_its_queue_stays_its_own(world):
    queue = _enqueue(world)
    world.work_on(queue, "worker-1")
    world.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        world.reconcile()
    assert (world.released, world.woken) == ([], [queue])


def test_with_many_queues_each_has_its_turn(world):
    for number in range(WATCHED + 50):
        world.work_on(_enqueue(world, f"root-{number}"), f"worker-{number}")
    assert world.reconcile().released == WATCHED
    world.clock.advance(300)
    world.reconcile()
    assert len({closed.queue for closed in world.released}) == WATCHED + 50
