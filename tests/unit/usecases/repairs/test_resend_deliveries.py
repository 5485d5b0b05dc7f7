from __future__ import annotations

import pytest

from tests.builders import NOW, any_delivery
from tidegate.reconciler.resend_deliveries import ResendDeliveries
from tidegate.rules.errors import CloudUnavailable


@pytest.fixture
def repair(world):
    return ResendDeliveries(world.deliveries, world.events)


def test_a_delivery_that_was_stored_and_never_queued_is_sent_again_once(world, repair):
    world.deliveries.store(any_delivery())
    assert world.take_turn(repair) == 1
    assert world.events.sent == [any_delivery()]
    assert world.take_turn(repair) == 0


def test_a_delivery_that_has_just_been_stored_is_left_to_its_webhook(world, repair):
    world.clock.at = NOW
    world.clock.advance(59)
    world.deliveries.store(any_delivery())
    assert world.take_turn(repair) == 0
    world.clock.advance(2)
    assert world.take_turn(repair) == 1


def test_a_delivery_that_was_queued_is_not_sent_again(world, repair):
    world.deliveries.store(any_delivery())
    world.deliveries.mark_queued(any_delivery().id)
    assert world.take_turn(repair) == 0


def test_a_delivery_that_could_not_be_sent_is_sent_the_next_time_and_holds_back_no_other(world, repair):
    for number in (1, 2):
        world.deliveries.store(any_delivery(number))
    world.events.refusals = 1
    assert world.take_turn(repair) == 1
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]
    assert world.take_turn(repair) == 1
    assert {delivery.id for delivery in world.events.sent} == {"delivery-1", "delivery-2"}
