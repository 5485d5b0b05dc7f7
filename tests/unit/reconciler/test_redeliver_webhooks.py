from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from tests.builders import any_delivery
from tests.fakes import MemoryForgeDeliveries
from tests.unit.reconciler.reconciler_scenario import BrokenScenario
from tidegate.ports import FailedDelivery
from tidegate.reconciler.redeliver_webhooks import MOST_ASKED, redeliver_webhooks
from tidegate.rules.errors import ForgeUnavailable

GUID = "0b989ba4-242f-11e5-81e1-c7b6966d2516"


def _lose(scenario, number=1, *, guid=GUID, event="push", seconds_ago=120):
    at = scenario.clock.now() - timedelta(seconds=seconds_ago)
    scenario.forge_deliveries.failures.append(FailedDelivery(number, guid, event, at))


def test_a_failed_delivery_is_asked_for_once_more(scenario):
    _lose(scenario, 17)
    assert scenario.take_turn(redeliver_webhooks) == 1
    assert scenario.forge_deliveries.redelivered == [17]


def test_asking_in_the_next_run_again_does_not_ask_twice(scenario):
    _lose(scenario, 17)
    scenario.take_turn(redeliver_webhooks)
    scenario.clock.advance(300)
    assert scenario.take_turn(redeliver_webhooks) == 0
    assert scenario.forge_deliveries.redelivered == [17]


def test_what_fails_again_is_asked_for_ever_more_rarely_and_not_for_ever(scenario):
    asked_at = []
    for minutes in range(0, 24 * 60, 5):
        scenario.forge_deliveries.failures.clear()
        _lose(scenario, minutes + 1)
        if scenario.take_turn(redeliver_webhooks):
            asked_at.append(minutes)
        scenario.clock.advance(300)
    assert len(asked_at) == MOST_ASKED
    waits = [after - before for before, after in pairwise(asked_at)]
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]


def test_a_delivery_that_arrived_although_its_answer_was_too_late_is_not_asked_for(scenario):
    scenario.deliveries.store(any_delivery(id=GUID))
    _lose(scenario)
    assert scenario.take_turn(redeliver_webhooks) == 0
    assert scenario.forge_deliveries.redelivered == []


def test_events_that_are_not_used_stay_lost(scenario):
    _lose(scenario, event="star")
    assert scenario.take_turn(redeliver_webhooks) == 0


def test_once_an_hour_it_looks_back_as_far_as_the_forge_does(scenario):
    _lose(scenario, 17, seconds_ago=2 * 24 * 3600)
    for _ in range(12):
        scenario.take_turn(redeliver_webhooks)
        scenario.clock.advance(300)
    assert scenario.forge_deliveries.redelivered == [17]


class _DownForNow(MemoryForgeDeliveries):
    is_down = True

    def redeliver(self, delivery):
        if self.is_down:
            raise ForgeUnavailable("502")
        super().redeliver(delivery)


def test_while_the_forge_does_not_answer_nothing_counts_as_asked():
    scenario = BrokenScenario(forge_deliveries=_DownForNow())
    _lose(scenario, 17)
    assert scenario.take_turn(redeliver_webhooks) == 0
    assert [type(failure) for failure in scenario.failures] == [ForgeUnavailable]
    scenario.forge_deliveries.is_down = False
    assert scenario.take_turn(redeliver_webhooks) == 1
    assert scenario.forge_deliveries.redelivered == [17]
