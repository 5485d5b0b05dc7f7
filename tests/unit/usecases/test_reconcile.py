from __future__ import annotations

from tests.fakes import MemoryClock
from tidegate.reconciler.reconcile import RUN_SECONDS, Reconciler
from tidegate.rules.errors import CloudUnavailable


class Repair:
    """Repairs as many things as there are, and each takes its time."""

    def __init__(self, clock, things=0, seconds=0.0, failure=None):
        self.clock, self.things, self.seconds, self.failure = clock, things, seconds, failure
        self.seen = []

    def repair(self, turn):
        if self.failure:
            raise self.failure
        return turn.each(range(self.things), self._one, self.things)

    def _one(self, number):
        self.clock.advance(self.seconds)
        self.seen.append(number)
        return True


def test_each_repair_says_how_much_it_repaired():
    clock = MemoryClock()
    done = Reconciler(clock, {"first": Repair(clock, 2), "second": Repair(clock)}).reconcile()
    assert done.repaired == {"first": 2, "second": 0}
    assert done.failures == []


def test_a_repair_that_fails_keeps_no_other_from_its_work():
    clock = MemoryClock()
    down = CloudUnavailable("DynamoDB", "ThrottlingException")
    done = Reconciler(clock, {"first": Repair(clock, failure=down), "second": Repair(clock, 1)}).reconcile()
    assert done.repaired == {"first": 0, "second": 1}
    assert done.failures == [down]


def test_a_repair_that_has_much_to_do_leaves_the_others_their_time():
    clock = MemoryClock()
    slow, other = Repair(clock, 10_000, seconds=1), Repair(clock, 10)
    begin = clock.at
    Reconciler(clock, {"slow": slow, "other": other}).reconcile()
    assert len(other.seen) == 10
    assert RUN_SECONDS / 2 <= len(slow.seen) <= RUN_SECONDS / 2 + 1
    assert clock.at > begin


def test_what_one_run_has_no_time_for_has_its_turn_in_a_later_one():
    clock = MemoryClock()
    slow = Repair(clock, 1000, seconds=1)
    for _ in range(60):
        Reconciler(clock, {"slow": slow}).reconcile()
        clock.advance(300 - RUN_SECONDS)
    assert set(slow.seen) == set(range(1000))
