from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_delivery, any_deployment, any_lock, any_root
from tests.unit.usecases.terraform_world import World
from tidegate.adapters.memory import MemoryDeliveries, MemoryEventQueue
from tidegate.domain.deployment import Trigger
from tidegate.domain.errors import CloudUnavailable
from tidegate.usecases.reconcile import Reconciler, Repairs


class ReconciledWorld(World):
    def __init__(self):
        super().__init__()
        self.deliveries, self.events, self.woken = MemoryDeliveries(), MemoryEventQueue(), []

    def reconcile(self):
        return Reconciler(self.deliveries, self.events, self.queues, self.clock, self.woken.append).reconcile()


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

    reconciler = Reconciler(world.deliveries, world.events, world.queues, world.clock, ensure)
    with pytest.raises(CloudUnavailable):
        reconciler.reconcile()
    assert world.woken == [sound.queue]
    assert len(world.events.sent) == 1
