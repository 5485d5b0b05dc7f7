from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployment, any_lock, any_queue, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.queue.refresh_positions import refresh_positions
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun
from tidegate.rules.errors import CloudUnavailable

QUEUE = any_queue()


class LineScenario(Scenario):
    """A queue with deployments in line, and its refresher."""

    def __init__(self, count=0, running=None):
        super().__init__()
        self.names = [f"d{number:03}" for number in range(count)]
        for number, name in enumerate(self.names):
            at = utc(f"2026-03-02T08:{number // 60:02}:{number % 60:02}")
            self.queues.enqueue(any_deployment(number + 1, id=name, requested_at=at))
        if running:
            self.put(running)
            self.change(in_flight=running.id)

    def change(self, take=None, **fields):
        head, first = self.queues.read(QUEUE)
        self.queues.commit(head, replace(head, **fields), take=first if take else None)

    def refresh(self, **others):
        self.event_publisher.places.clear()
        refresh_positions(changed(self.ports, **others), QUEUE)
        return list(self.event_publisher.places)

    def published(self, deployment, number):
        self.check_runs.remember(PublishedCheckRun(deployment, number, 0, closed=False))


def test_an_empty_queue_asks_for_nothing():
    assert LineScenario().refresh() == []


def test_all_in_line_are_asked_for_with_who_runs_and_who_goes_before():
    running = deployment_in(State.AWAITING_REVIEW, 9, id="running")
    scenario = LineScenario(2, running)
    scenario.published("running", 41)
    assert scenario.refresh() == ["d000", "d001"]
    shown = scenario.boards.shown(QUEUE, "d001")
    assert (shown.standing.place, shown.standing.running, shown.standing.behind) == (2, "running", "d000")
    assert shown.standing.reviewing
    assert {(named.deployment, named.sha, named.check_run) for named in shown.names} == {
        ("running", running.revision.sha, 41),
        ("d000", any_deployment(1).revision.sha, None),
    }


def test_a_second_look_without_a_change_asks_for_nothing():
    scenario = LineScenario(3)
    scenario.refresh()
    scenario.clock.advance(5)
    assert scenario.refresh() == []


def test_a_lock_asks_for_all_that_wait_and_for_the_one_that_locks():
    scenario = LineScenario(2)
    scenario.refresh()
    scenario.clock.advance(5)
    scenario.change(lock=any_lock(deployment="by-hand"))
    assert set(scenario.refresh()) == {"by-hand", "d000", "d001"}
    scenario.clock.advance(5)
    scenario.change(lock=None)
    assert set(scenario.refresh()) == {"by-hand", "d000", "d001"}
    assert scenario.boards.shown(QUEUE, "by-hand") is None


def test_a_deployment_in_flight_that_is_not_known_is_named_by_its_id():
    scenario = LineScenario(1)
    scenario.change(in_flight="unknown")
    scenario.refresh()
    assert scenario.boards.shown(QUEUE, "d000").names[0].deployment == "unknown"


def test_what_is_due_within_two_seconds_is_left_to_the_next_message_of_the_line():
    scenario = LineScenario(2)
    scenario.refresh()
    scenario.change(take=True)
    scenario.refresh()
    assert scenario.event_publisher.lines == [QUEUE]
    assert scenario.event_publisher.later == []


def test_what_is_due_later_is_looked_at_later_once():
    scenario = LineScenario(6)
    scenario.refresh()
    scenario.clock.advance(20)
    scenario.change(take=True)
    scenario.refresh()
    scenario.clock.advance(5)
    scenario.refresh()
    assert [queue for queue, _ in scenario.event_publisher.later] == [QUEUE]
    assert 120 < scenario.event_publisher.later[0][1] <= 130


def test_what_is_due_after_a_quarter_of_an_hour_is_looked_at_in_steps():
    scenario = LineScenario(60)
    scenario.refresh()
    while scenario.event_publisher.later:
        scenario.clock.advance(scenario.event_publisher.later.pop()[1])
        scenario.refresh()
    scenario.clock.advance(60)
    scenario.change(take=True)
    scenario.refresh()
    steps, asked = 0, set()
    while scenario.event_publisher.later:
        _, seconds = scenario.event_publisher.later.pop()
        assert seconds <= 900
        scenario.clock.advance(seconds + 0.1)
        asked |= set(scenario.refresh())
        steps += 1
    assert "d059" in asked
    assert scenario.boards.shown(QUEUE, "d059").standing.place == 59
    assert steps < 60


def test_an_earlier_look_replaces_a_later_one():
    scenario = LineScenario(6)
    later = scenario.clock.now() + timedelta(hours=1)
    scenario.boards.expect(QUEUE, later)
    scenario.refresh()
    scenario.clock.advance(20)
    scenario.change(take=True)
    scenario.refresh()
    assert len(scenario.event_publisher.later) == 1


def test_a_look_that_died_before_it_asked_is_done_again():
    scenario = LineScenario(2)

    class Refuses:
        def position_changed(self, _deployment):
            raise CloudUnavailable("SQS", "RequestThrottled")

    with pytest.raises(CloudUnavailable):
        scenario.refresh(event_publisher=Refuses())
    assert scenario.refresh() == ["d000", "d001"]


def test_a_look_at_two_hundred_reads_the_same_few_things():
    reads = []

    class Counting:
        def __init__(self, port):
            self.port = port

        def __getattr__(self, name):
            reads.append(name)
            return getattr(self.port, name)

    scenario = LineScenario(200, deployment_in(State.PLANNING, 250, id="running"))
    stores = ("queues", "queue_snapshots", "deployments", "check_runs")
    scenario.refresh(**{name: Counting(getattr(scenario, name)) for name in stores})
    assert sorted(reads) == ["expect", "line", "many", "many", "read", "write", "write"]


@pytest.mark.parametrize(
    ("state", "count", "asked"), [(State.BLOCKED, 1, ["change-1"]), (State.BLOCKED, 0, []), (State.GATED, 1, [])]
)
def test_what_waits_behind_a_blocked_deployment_has_its_gate_looked_at(state, count, asked):
    scenario = LineScenario(count, deployment_in(state, 60, change_set="change-1"))
    scenario.refresh()
    assert scenario.event_publisher.moved == asked
