from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from tests.builders import any_delivery
from tests.fakes import MemoryForgeDeliveries
from tests.unit.usecases.repairs.broken_world import BrokenWorld
from tidegate.ports import FailedDelivery
from tidegate.reconciler.redeliver_webhooks import MOST_ASKED, redeliver_webhooks
from tidegate.rules.errors import ForgeUnavailable

GUID = "0b989ba4-242f-11e5-81e1-c7b6966d2516"


def _lose(world, number=1, *, guid=GUID, event="push", seconds_ago=120):
    at = world.clock.now() - timedelta(seconds=seconds_ago)
    world.forge_deliveries.failures.append(FailedDelivery(number, guid, event, at))


def test_a_failed_delivery_is_asked_for_once_more(world):
    _lose(world, 17)
    assert world.take_turn(redeliver_webhooks) == 1
    assert world.forge_deliveries.redelivered == [17]


def test_asking_in_the_next_run_again_does_not_ask_twice(world):
    _lose(world, 17)
    world.take_turn(redeliver_webhooks)
    world.clock.advance(300)
    assert world.take_turn(redeliver_webhooks) == 0
    assert world.forge_deliveries.redelivered == [17]


def test_what_fails_again_is_asked_for_ever_more_rarely_and_not_for_ever(world):
    asked_at = []
    for minutes in range(0, 24 * 60, 5):
        world.forge_deliveries.failures.clear()
        _lose(world, minutes + 1)
        if world.take_turn(redeliver_webhooks):
            asked_at.append(minutes)
        world.clock.advance(300)
    assert len(asked_at) == MOST_ASKED
    waits = [after - before for before, after in pairwise(asked_at)]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]


def test_a_delivery_that_arrived_although_its_answer_was_too_late_is_not_asked_for(world):
    world.deliveries.store(any_delivery(id=GUID))
    _lose(world)
    assert world.take_turn(redeliver_webhooks) == 0
    assert world.forge_deliveries.redelivered == []


def test_events_that_are_not_used_stay_lost(world):
    _lose(world, event="star")
    assert world.take_turn(redeliver_webhooks) == 0


def test_once_an_hour_it_looks_back_as_far_as_the_forge_does(world):
    _lose(world, 17, seconds_ago=2 * 24 * 3600)
    for _ in range(12):
        world.take_turn(redeliver_webhooks)
        world.clock.advance(300)
    assert world.forge_deliveries.redelivered == [17]


class _DownForNow(MemoryForgeDeliveries):
    is_down = True

    def redeliver(self, delivery):
        if self.is_down:
            raise ForgeUnavailable("502")
        super().redeliver(delivery)


def test_while_the_forge_does_not_answer_nothing_counts_as_asked():
    world = BrokenWorld(forge_deliveries=_DownForNow())
    _lose(world, 17)
    assert world.take_turn(redeliver_webhooks) == 0
    assert [type(failure) for failure in world.failures] == [ForgeUnavailable]
    world.forge_deliveries.is_down = False
    assert world.take_turn(redeliver_webhooks) == 1
    assert world.forge_deliveries.redelivered == [17]
