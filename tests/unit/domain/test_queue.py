from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_lock, any_queue, deployment_in
from tidegate.domain.deployment import State, Trigger, moves_baseline
from tidegate.domain.queue import (
    ROUNDS_PER_EXECUTION,
    QueueHead,
    Step,
    Worker,
    baseline_after,
    has_work,
    lock_after,
    may_take,
    next_step,
    next_worker,
    waiting_for,
    works_here,
)

MERGE = waiting_for(any_deployment())
MANUAL = waiting_for(any_deployment(trigger=Trigger.MANUAL))
HEAD = QueueHead(any_queue(), worker=Worker("me", 1, started=True))


@pytest.mark.parametrize(
    ("first", "lock", "allowed"),
    [
        (None, None, False),
        (MERGE, None, True),
        (MANUAL, None, True),
        (MERGE, any_lock(), False),
        (MANUAL, any_lock(), True),
    ],
)
def test_a_lock_holds_back_merges_only(first, lock, allowed):
    assert may_take(first, lock) is allowed


def test_a_worker_takes_the_first_in_line():
    step = next_step(HEAD, MERGE, "me", 0)
    assert (step.step, step.take) == (Step.DEPLOY, MERGE)


@pytest.mark.parametrize("head", [replace(HEAD, worker=None), replace(HEAD, worker=Worker("another", 2))])
def test_an_execution_that_is_not_the_worker_stops(head):
    assert next_step(head, MERGE, "me", 0).step is Step.STOP
    assert not works_here(head, "me")


@pytest.mark.parametrize("rounds", [0, ROUNDS_PER_EXECUTION])
def test_what_is_in_flight_comes_before_everything_else(rounds):
    step = next_step(replace(HEAD, in_flight="deployment"), MANUAL, "me", rounds)
    assert (step.step, step.take) == (Step.DEPLOY, None)


@pytest.mark.parametrize(("first", "lock"), [(None, None), (MERGE, any_lock())])
def test_a_worker_waits_when_nothing_may_be_taken(first, lock):
    step = next_step(replace(HEAD, lock=lock), first, "me", ROUNDS_PER_EXECUTION)
    assert step.step is Step.WAIT
    assert ("locked" in step.reason) is (lock is not None)


def test_a_worker_hands_over_after_many_rounds():
    assert next_step(HEAD, MERGE, "me", ROUNDS_PER_EXECUTION - 1).step is Step.DEPLOY
    assert next_step(HEAD, MERGE, "me", ROUNDS_PER_EXECUTION).step is Step.HAND_OVER


def test_each_generation_has_another_name():
    first = next_worker(HEAD)
    second = next_worker(replace(HEAD, generation=first.generation))
    assert first.execution != second.execution
    assert (first.generation, second.generation, first.started) == (1, 2, False)


def test_there_is_work_while_something_is_in_flight():
    assert has_work(replace(HEAD, in_flight="deployment", lock=any_lock()), MERGE)
    assert not has_work(replace(HEAD, lock=any_lock()), MERGE)


@pytest.mark.parametrize("trigger", Trigger)
def test_an_unknown_outcome_locks_the_queue_for_its_revision(trigger):
    ended = deployment_in(State.OUTCOME_UNKNOWN, trigger=trigger)
    lock = lock_after(ended, NOW)
    assert lock is not None
    assert (lock.by, lock.at, lock.revision) == ("tidegate", NOW, ended.revision.sha)


@pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED])
def test_a_manual_deployment_locks_the_queue_and_a_merge_does_not(state):
    lock = lock_after(deployment_in(state, trigger=Trigger.MANUAL), NOW)
    assert lock is not None
    assert lock.by == "maintainer"
    assert lock_after(deployment_in(state), NOW) is None


@pytest.mark.parametrize("state", [State.REFUSED, State.REJECTED, State.PLAN_FAILED, State.ENGINE_FAULT])
def test_a_manual_deployment_that_changed_nothing_does_not_lock(state):
    assert lock_after(deployment_in(state, trigger=Trigger.MANUAL), NOW) is None


@pytest.mark.parametrize("state", State)
def test_the_baseline_moves_to_what_may_have_been_applied(state):
    ended, before = deployment_in(state, 2), any_deployed()
    after = baseline_after(ended, before)
    assert after is not None
    assert after.deployment == (ended.id if moves_baseline(state) else before.deployment)
