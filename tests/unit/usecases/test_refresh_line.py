from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployment, any_lock, any_queue, deployment_in
from tests.fakes.ports import changed
from tests.instants import utc
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.queue.refresh_positions import refresh_positions
from tidegate.deploys.rules.state import State
from tidegate.ports import PublishedCheckRun
from tidegate.rules.errors import CloudUnavailable

QUEUE = any_queue()


class LineWorld(World):
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
    assert LineWorld().refresh() == []


def test_all_in_line_are_asked_for_with_who_runs_and_who_goes_before():
    running = deployment_in(State.AWAITING_REVIEW, 9, id="running")
    world = LineWorld(2, running)
    world.published("running", 41)
    assert world.refresh() == ["d000", "d001"]
    shown = world.boards.shown(QUEUE, "d001")
    assert (shown.standing.place, shown.standing.running, shown.standing.behind) == (2, "running", "d000")
    assert shown.standing.reviewing
    assert {(named.deployment, named.sha, named.check_run) for named in shown.names} == {
        ("running", running.revision.sha, 41),
        ("d000", any_deployment(1).revision.sha, None),
    }


def test_a_second_look_without_a_change_asks_for_nothing():
    world = LineWorld(3)
    world.refresh()
    world.clock.advance(5)
    assert world.refresh() == []


def test_a_lock_asks_for_all_that_wait_and_for_the_one_that_locks():
    world = LineWorld(2)
    world.refresh()
    world.clock.advance(5)
    world.change(lock=any_lock(deployment="by-hand"))
    assert set(world.refresh()) == {"by-hand", "d000", "d001"}
    world.clock.advance(5)
    world.change(lock=None)
    assert set(world.refresh()) == {"by-hand", "d000", "d001"}
    assert world.boards.shown(QUEUE, "by-hand") is None


def test_a_deployment_in_flight_that_is_not_known_is_named_by_its_id():
    world = LineWorld(1)
    world.change(in_flight="unknown")
    world.refresh()
    assert world.boards.shown(QUEUE, "d000").names[0].deployment == "unknown"


def test_what_is_due_within_two_seconds_is_left_to_the_next_message_of_the_line():
    world = LineWorld(2)
    world.refresh()
    world.change(take=True)
    world.refresh()
    assert world.event_publisher.lines == [QUEUE]
    assert world.event_publisher.later == []


def test_what_is_due_later_is_looked_at_later_once():
    world = LineWorld(6)
    world.refresh()
    world.clock.advance(20)
    world.change(take=True)
    world.refresh()
    world.clock.advance(5)
    world.refresh()
    assert [queue for queue, _ in world.event_publisher.later] == [QUEUE]
    assert 120 < world.event_publisher.later[0][1] <= 130


def test_what_is_due_after_a_quarter_of_an_hour_is_looked_at_in_steps():
    world = LineWorld(60)
    world.refresh()
    while world.event_publisher.later:
        world.clock.advance(world.event_publisher.later.pop()[1])
        world.refresh()
    world.clock.advance(60)
    world.change(take=True)
    world.refresh()
    steps, asked = 0, set()
    while world.event_publisher.later:
        _, seconds = world.event_publisher.later.pop()
        assert seconds <= 900
        world.clock.advance(seconds + 0.1)
        asked |= set(world.refresh())
        steps += 1
    assert "d059" in asked
    assert world.boards.shown(QUEUE, "d059").standing.place == 59
    assert steps < 60


def test_an_earlier_look_replaces_a_later_one():
    world = LineWorld(6)
    later = world.clock.now() + timedelta(hours=1)
    world.boards.expect(QUEUE, later)
    world.refresh()
    world.clock.advance(20)
    world.change(take=True)
    world.refresh()
    assert len(world.event_publisher.later) == 1


def test_a_look_that_died_before_it_asked_is_done_again():
    world = LineWorld(2)

    class Refuses:
        def position_changed(self, _deployment):
            raise CloudUnavailable("SQS", "RequestThrottled")

    with pytest.raises(CloudUnavailable):
        world.refresh(event_publisher=Refuses())
    assert world.refresh() == ["d000", "d001"]


def test_a_look_at_two_hundred_reads_the_same_few_things():
    reads = []

    class Counting:
        def __init__(self, port):
            self.port = port

        def __getattr__(self, name):
            reads.append(name)
            return getattr(self.port, name)

    world = LineWorld(200, deployment_in(State.PLANNING, 250, id="running"))
    stores = ("queues", "queue_snapshots", "deployments", "check_runs")
    world.refresh(**{name: Counting(getattr(world, name)) for name in stores})
    assert sorted(reads) == ["expect", "line", "many", "many", "read", "write", "write"]


@pytest.mark.parametrize(
    ("state", "count", "asked"), [(State.BLOCKED, 1, ["change-1"]), (State.BLOCKED, 0, []), (State.GATED, 1, [])]
)
def test_what_waits_behind_a_blocked_deployment_has_its_gate_looked_at(state, count, asked):
    world = LineWorld(count, deployment_in(state, 60, change_set="change-1"))
    world.refresh()
    assert world.event_publisher.moved == asked
