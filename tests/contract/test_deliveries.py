"""What every store of webhook deliveries does."""

from __future__ import annotations

import pytest

from tests.builders import NOW, any_delivery
from tests.instants import utc
from tidegate.ports import DeliveryOutcome
from tidegate.rules.errors import NotFound

LATER = utc("2026-03-02T08:30")


def test_a_delivery_is_stored_once(stores):
    assert stores.deliveries.store(any_delivery())
    assert not stores.deliveries.store(any_delivery(received_at=LATER))
    assert stores.deliveries.get("delivery-1") == any_delivery()


def test_an_unknown_delivery_is_not_found(stores):
    for ask in (stores.deliveries.get, stores.deliveries.is_queued):
        with pytest.raises(NotFound):
            ask("unknown")


def test_a_delivery_is_unqueued_until_it_is_marked(stores):
    stores.deliveries.store(any_delivery())
    assert not stores.deliveries.is_queued("delivery-1")
    assert list(stores.deliveries.unqueued(LATER)) == [any_delivery()]
    stores.deliveries.mark_queued("delivery-1")
    stores.deliveries.mark_queued("delivery-1")
    assert stores.deliveries.is_queued("delivery-1")
    assert list(stores.deliveries.unqueued(LATER)) == []


def test_the_queueing_of_a_delivery_is_taken_over_once_and_only_after_a_while(stores):
    stores.deliveries.store(any_delivery())
    assert stores.deliveries.take_over("delivery-1", LATER, NOW) is None
    assert stores.deliveries.take_over("delivery-1", utc("2026-03-02T08:40"), LATER) == any_delivery()
    assert stores.deliveries.take_over("delivery-1", utc("2026-03-02T08:40"), LATER) is None


def test_what_is_queued_or_unknown_is_not_taken_over(stores):
    stores.deliveries.store(any_delivery())
    stores.deliveries.mark_queued("delivery-1")
    assert stores.deliveries.take_over("delivery-1", LATER, LATER) is None
    assert stores.deliveries.take_over("unknown", LATER, LATER) is None


def test_young_deliveries_are_left_alone(stores):
    stores.deliveries.store(any_delivery())
    assert list(stores.deliveries.unqueued(NOW)) == []


def test_an_outcome_does_not_change_the_delivery(stores):
    stores.deliveries.store(any_delivery())
    stores.deliveries.conclude("delivery-1", "Two roots changed.")
    assert stores.deliveries.get("delivery-1") == any_delivery()
    assert not stores.deliveries.is_queued("delivery-1")


def test_an_outcome_names_the_deployments_and_the_last_one_stands(stores):
    stores.deliveries.store(any_delivery())
    assert stores.deliveries.outcome("delivery-1") is None
    stores.deliveries.conclude("delivery-1", "The forge did not answer.")
    assert stores.deliveries.outcome("delivery-1") == DeliveryOutcome("The forge did not answer.")
    stores.deliveries.conclude("delivery-1", "Enqueued: a, b.", ["a-1", "b-1"])
    assert stores.deliveries.outcome("delivery-1") == DeliveryOutcome("Enqueued: a, b.", ("a-1", "b-1"))


def test_a_delivery_stays_bound_to_its_first_commit(stores):
    stores.deliveries.store(any_delivery())
    assert stores.deliveries.bind("delivery-1", "first") == "first"
    assert stores.deliveries.bind("delivery-1", "second") == "first"
    assert stores.deliveries.get("delivery-1") == any_delivery()
    assert stores.deliveries.outcome("delivery-1") is None


def test_a_turn_is_the_first_ones_that_claims_it(stores):
    assert stores.deliveries.claim("answer at 08", "delivery-1")
    assert not stores.deliveries.claim("answer at 08", "delivery-2")
    assert stores.deliveries.claim("answer at 08", "delivery-1")
    assert stores.deliveries.claim("answer at 09", "delivery-2")
    assert list(stores.deliveries.unqueued(LATER)) == []


def test_an_unknown_delivery_has_no_outcome_and_takes_none(stores):
    with pytest.raises(NotFound):
        stores.deliveries.outcome("unknown")
    with pytest.raises(NotFound):
        stores.deliveries.conclude("unknown", "Nothing.")
    with pytest.raises(NotFound):
        stores.deliveries.bind("unknown", "commit")


def test_queues_are_not_mistaken_for_deliveries(stores):
    stores.deliveries.store(any_delivery())
    assert list(stores.queues.unfinished()) == []
