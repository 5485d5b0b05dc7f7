from __future__ import annotations

from tests.builders import NOW, any_delivery
from tidegate.reconciler.resend_deliveries import resend_deliveries
from tidegate.rules.errors import CloudUnavailable


def test_a_delivery_that_was_stored_and_never_queued_is_sent_again_once(scenario):
    scenario.deliveries.store(any_delivery())
    assert scenario.take_turn(resend_deliveries) == 1
    assert scenario.events.sent == [any_delivery()]
    assert scenario.take_turn(resend_deliveries) == 0


def test_a_delivery_that_has_just_been_stored_is_left_to_its_webhook(scenario):
    scenario.clock.at = NOW
    scenario.clock.advance(59)
    scenario.deliveries.store(any_delivery())
    assert scenario.take_turn(resend_deliveries) == 0
    scenario.clock.advance(2)
    assert scenario.take_turn(resend_deliveries) == 1


def test_a_delivery_that_was_queued_is_not_sent_again(scenario):
    scenario.deliveries.store(any_delivery())
    scenario.deliveries.mark_queued(any_delivery().id)
    assert scenario.take_turn(resend_deliveries) == 0


def test_a_delivery_that_could_not_be_sent_is_sent_the_next_time_and_holds_back_no_other(scenario):
    for number in (1, 2):
        scenario.deliveries.store(any_delivery(number))
    scenario.events.refusals = 1
    assert scenario.take_turn(resend_deliveries) == 1
    assert [type(failure) for failure in scenario.failures] == [CloudUnavailable]
    assert scenario.take_turn(resend_deliveries) == 1
    assert {delivery.id for delivery in scenario.events.sent} == {"delivery-1", "delivery-2"}
