from __future__ import annotations

from tests.builders import NOW, any_delivery
from tidegate.reconciler.resend_deliveries import resend_deliveries
from tidegate.rules.errors import CloudUnavailable


def test_a_delivery_that_was_stored_and_never_queued_is_sent_again_once(world):
    world.deliveries.store(any_delivery())
    assert world.take_turn(resend_deliveries) == 1
    assert world.events.sent == [any_delivery()]
    assert world.take_turn(resend_deliveries) == 0


def test_a_delivery_that_has_just_been_stored_is_left_to_its_webhook(world):
    world.clock.at = NOW
    world.clock.advance(59)
    world.deliveries.store(any_delivery())
    assert world.take_turn(resend_deliveries) == 0
    world.clock.advance(2)
    assert world.take_turn(resend_deliveries) == 1


def test_a_delivery_that_was_queued_is_not_sent_again(world):
    world.deliveries.store(any_delivery())
    world.deliveries.mark_queued(any_delivery().id)
    assert world.take_turn(resend_deliveries) == 0


def test_a_delivery_that_could_not_be_sent_is_sent_the_next_time_and_holds_back_no_other(world):
    for number in (1, 2):
        world.deliveries.store(any_delivery(number))
    world.events.refusals = 1
    assert world.take_turn(resend_deliveries) == 1
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]
    assert world.take_turn(resend_deliveries) == 1
    assert {delivery.id for delivery in world.events.sent} == {"delivery-1", "delivery-2"}
