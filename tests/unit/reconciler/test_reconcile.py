from __future__ import annotations

from tests.fakes.ports import memory_ports
from tidegate.reconciler.reconcile import RUN_SECONDS, reconcile
from tidegate.rules.errors import CloudUnavailable


class Repair:
    """Repairs as many things as there are, and each takes its time."""

    def __init__(self, name, things=0, seconds=0.0, failure=None):
        self.__name__, self.things, self.seconds, self.failure = name, things, seconds, failure
        self.seen = []

    def __call__(self, ports, turn):
        self.clock = ports.clock
        if self.failure:
            raise self.failure
        return turn.each(range(self.things), self._one, self.things)

    def _one(self, number):
        self.clock.advance(self.seconds)
        self.seen.append(number)
        return True


def test_each_repair_says_how_much_it_repaired():
    done = reconcile(memory_ports(), [Repair("first", 2), Repair("second")])
    assert done.repaired == {"first": 2, "second": 0}
    assert done.failures == []


def test_a_repair_that_fails_keeps_no_other_from_its_work():
    down = CloudUnavailable("DynamoDB", "ThrottlingException")
    done = reconcile(memory_ports(), [Repair("first", failure=down), Repair("second", 1)])
    assert done.repaired == {"first": 0, "second": 1}
    assert done.failures == [down]


def test_a_repair_that_has_much_to_do_leaves_the_others_their_time():
    slow, other, ports = Repair("slow", 10_000, seconds=1), Repair("other", 10), memory_ports()
    begin = ports.clock.at
    reconcile(ports, [slow, other])
    assert len(other.seen) == 10
    assert RUN_SECONDS / 2 <= len(slow.seen) <= RUN_SECONDS / 2 + 1
    assert ports.clock.at > begin


def test_what_one_run_has_no_time_for_has_its_turn_in_a_later_one():
    slow, ports = Repair("slow", 1000, seconds=1), memory_ports()
    for _ in range(60):
        reconcile(ports, [slow])
        ports.clock.advance(300 - RUN_SECONDS)
    assert set(slow.seen) == set(range(1000))
