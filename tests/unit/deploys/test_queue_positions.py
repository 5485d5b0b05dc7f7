"""Which check runs of a line are due: near ones at once, far ones rarely, all of them in the end, in few calls."""

from __future__ import annotations

import math
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, any_lock, any_queue
from tests.chance import examples
from tidegate.deploys.rules.queue import QueueHead, Waiting
from tidegate.deploys.rules.queue_snapshot import (
    FAR_BUDGET,
    FAR_WINDOW,
    NEAR,
    SECONDS_PER_POSITION,
    Shown,
    Standing,
    look,
    policy_statuses,
)
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State

START = NOW
SECOND = timedelta(seconds=1)


def waiting(*names):
    return [Waiting(name, Trigger.MERGE, "a" * 40, NOW) for name in names]


def head(**fields):
    return QueueHead(any_queue(), **fields)


class Line:
    """A line whose check runs show what they are asked to, as the refresher keeps it."""

    def __init__(self, count=0):
        self.names = [f"d{number}" for number in range(count)]
        self.running, self.reviewing, self.lock = "running-0", False, None
        self.shown, self.asked, self.now, self.again = {}, [], START, None
        self.left = []

    def current(self):
        top = head(in_flight=self.running, lock=self.lock)
        state = State.AWAITING_REVIEW if self.reviewing else State.APPLYING
        return policy_statuses(top, waiting(*self.names), state)

    def look(self):
        seen = look(self.now, self.current(), self.shown)
        for name, standing in seen.due.items():
            self.asked.append((self.now, name, standing))
            if standing is not None:
                self.shown[name] = Shown(standing, self.now, asked=True)
        for name in seen.gone:
            del self.shown[name]
            self.left.append(self.now)
        self.again = seen.again
        return seen

    def move(self):
        self.running = self.names.pop(0)

    def wait(self, duration):
        """Let time pass and look whenever it is time to."""
        end = self.now + duration
        while self.again is not None and self.again <= end:
            self.now = max(self.again, self.now + timedelta(milliseconds=1))
            self.look()
        self.now = max(self.now, end)

    def settle(self, most=10_000):
        """Look as often as there is something to look for; return how often that was."""
        for looks in range(most):
            if self.again is None:
                return looks
            self.now = max(self.again, self.now + timedelta(milliseconds=1))
            self.look()
        raise AssertionError("it never comes to rest")

    def calls(self, name=None):
        return [at for at, asked, _ in self.asked if name in {None, asked}]


def test_each_in_line_has_a_place_and_knows_who_runs_and_who_goes_before():
    found = policy_statuses(head(in_flight="r"), waiting("a", "b"), State.AWAITING_REVIEW)
    assert found == {"a": Standing(1, "r", reviewing=True), "b": Standing(2, "r", reviewing=True, behind="a")}


@pytest.mark.parametrize(("state", "gate"), [(State.GATED, State.GATED), (State.BLOCKED, State.BLOCKED)])
def test_everybody_in_line_knows_that_who_runs_waits_at_a_gate(state, gate):
    assert policy_statuses(head(in_flight="r"), waiting("a"), state) == {"a": Standing(1, "r", gate=gate)}


def test_the_deployment_that_locks_has_a_standing_too():
    lock = any_lock(deployment="by-hand")
    assert policy_statuses(head(lock=lock), waiting("a"), None)["by-hand"] == Standing(0, lock=lock)


def test_a_deployment_in_line_that_locks_keeps_its_place():
    lock = any_lock(deployment="a")
    assert policy_statuses(head(lock=lock), waiting("a"), None) == {"a": Standing(1, lock=lock)}


def test_what_shows_what_is_so_is_not_due():
    line = Line(NEAR)
    line.look()
    line.now += 10 * SECOND
    assert line.look().due == {}
    assert line.again is None


def test_near_places_follow_each_change_but_not_within_a_second():
    line = Line(NEAR)
    line.look()
    line.now += SECOND / 2
    line.reviewing = True
    assert line.look().due == {}
    assert line.again == START + SECOND
    line.now = line.again
    assert set(line.look().due) == set(line.names)


def test_a_far_place_waits_half_a_minute_for_each_place_before_it():
    line = Line(8)
    line.look()
    line.move()
    line.now += 10 * SECOND
    line.look()
    assert line.calls("d7") == [START]
    line.settle()
    assert line.calls("d7") == [START, START + 8 * SECONDS_PER_POSITION]


def test_a_far_place_that_has_halved_is_shown_at_once():
    line = Line(16)
    line.look()
    line.wait(2 * FAR_WINDOW)
    line.names = line.names[8:]
    line.now += SECOND
    line.look()
    assert line.calls("d15")[-1] == line.now


def test_a_far_place_is_shown_once_in_a_window_however_often_the_queue_is_locked_and_unlocked():
    line = Line(9)
    for second in range(10):
        line.lock = None if second % 2 else any_lock(deployment="by-hand")
        line.look()
        line.now += SECOND
    assert len(line.calls("d8")) == 1
    line.settle()
    assert line.shown["d8"].standing.lock == line.lock


def test_what_was_stored_and_not_asked_for_is_due_again():
    line = Line(1)
    line.shown["d0"] = Shown(line.current()["d0"], NOW, asked=False)
    assert set(line.look().due) == {"d0"}


def test_what_left_the_line_is_forgotten_and_not_asked_for():
    line = Line(2)
    line.look()
    line.move()
    line.now += SECOND
    seen = line.look()
    assert seen.gone == ("d0",)
    assert "d0" not in seen.due


def test_the_deployment_whose_lock_went_away_loses_its_button():
    line = Line(1)
    line.lock = any_lock(deployment="by-hand")
    line.look()
    line.lock = None
    line.now += SECOND
    seen = line.look()
    assert seen.due["by-hand"] is None
    assert seen.gone == ("by-hand",)


def test_a_lock_reaches_two_hundred_in_a_few_minutes_near_places_first():
    line = Line(200)
    line.look()
    line.settle()
    line.asked.clear()
    line.now += timedelta(hours=1)
    line.lock = any_lock(deployment="by-hand")
    began = line.now
    assert {"by-hand", "d0", "d1", "d2"} <= set(line.look().due)
    line.settle()
    assert len(line.asked) == 201
    assert line.now - began <= timedelta(seconds=200)


def test_two_hundred_that_stand_still_cost_nothing():
    line = Line(200)
    line.look()
    line.settle()
    line.asked.clear()
    line.wait(timedelta(days=7))
    assert line.asked == []


@pytest.mark.large
@pytest.mark.parametrize(("each", "most"), [(2, 9), (30, 14), (120, 26)])
def test_two_hundred_that_drain_cost_few_calls_each(each, most):
    line = Line(200)
    line.look()
    while line.names:
        line.wait(timedelta(seconds=each))
        line.move()
        line.look()
    far = [standing for _, _, standing in line.asked if standing is not None and not standing.near]
    assert len(line.asked) / 200 <= most
    assert len(far) <= 200 * (1 + math.log2(200)) + 200 * each / 30 * math.log(200)


def far_calls(line):
    return [at for at, _, standing in line.asked if standing is not None and not standing.near]


@examples(60)
@given(
    count=st.integers(0, 60),
    events=st.lists(
        st.tuples(
            st.sampled_from(["move", "enqueue", "overtake", "review", "lock", "unlock"]),
            st.sampled_from([0, 0.2, 1, 7, 60, 1000]),
        ),
        max_size=30,
    ),
)
def test_whatever_happens_calls_are_few_and_in_the_end_everything_shows_what_is_so(count, events):
    line = Line(count)
    line.look()
    for number, (event, pause) in enumerate(events):
        if event == "move" and line.names:
            line.move()
        elif event == "enqueue":
            line.names.append(f"new{number}")
        elif event == "overtake":
            line.names.insert(0, f"first{number}")
        elif event == "review":
            line.reviewing = not line.reviewing
        elif event == "lock":
            line.lock = any_lock(deployment=f"by-hand{number}")
        else:
            line.lock = None
        line.look()
        line.wait(timedelta(seconds=pause))
    line.settle()
    assert {name: shown.standing for name, shown in line.shown.items()} == line.current()
    for name in {asked for _, asked, _ in line.asked}:
        times = [at for at, asked, standing in line.asked if asked == name and standing is not None]
        assert all(later - earlier >= SECOND for earlier, later in pairwise(times))
    far = far_calls(line)
    for start in far:
        left = [at for at in line.left if start <= at < start + FAR_WINDOW]
        assert len([at for at in far if start <= at < start + FAR_WINDOW]) <= FAR_BUDGET + len(left)


@examples(40)
@given(count=st.integers(NEAR + 1, 40), moves=st.lists(st.integers(1, 300), max_size=40))
def test_a_far_place_costs_its_arrival_its_halvings_and_its_patience(count, moves):
    line = Line(count)
    line.look()
    for pause in moves:
        line.wait(timedelta(seconds=pause))
        if line.names:
            line.move()
        line.look()
    elapsed = (line.now - START) / SECONDS_PER_POSITION
    for name in {asked for _, asked, _ in line.asked}:
        far = [standing for _, asked, standing in line.asked if asked == name and standing and not standing.near]
        assert len(far) <= 1 + math.log2(count / NEAR) + elapsed / (NEAR + 1)
