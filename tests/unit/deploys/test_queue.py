from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_lock, any_queue, deployment_in
from tidegate.deploys.rules.queue import (
    EXECUTION_AGE,
    ROUNDS_PER_EXECUTION,
    QueueHead,
    Step,
    Worked,
    Worker,
    attempt_after,
    baseline_after,
    has_work,
    lock_at_end,
    lock_when_let_in,
    may_take,
    next_step,
    next_worker,
    order,
    waiting_for,
    works_here,
)
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State, is_final, moves_baseline

MERGE = waiting_for(any_deployment())
RERUN = waiting_for(any_deployment(trigger=Trigger.RERUN))
MANUAL = waiting_for(any_deployment(trigger=Trigger.MANUAL))
RERUN_OF_MANUAL = waiting_for(any_deployment(trigger=Trigger.RERUN, reruns_manual=True))
UNKNOWN = lock_at_end(deployment_in(State.OUTCOME_UNKNOWN), None, NOW)
HEAD = QueueHead(any_queue(), worker=Worker("me", 1, started=True))


@pytest.mark.parametrize(
    ("first", "lock", "allowed"),
    [
        (None, None, False),
        (MERGE, None, True),
        (MANUAL, None, True),
        (MERGE, any_lock(), False),
        (RERUN, any_lock(), False),
        (MANUAL, any_lock(), True),
        (RERUN_OF_MANUAL, any_lock(), True),
        (RERUN_OF_MANUAL, UNKNOWN, False),
        (MANUAL, UNKNOWN, True),
    ],
)
def test_a_lock_holds_back_all_that_is_not_by_hand(first, lock, allowed):
    assert may_take(first, lock) is allowed


def test_a_worker_takes_the_first_in_line():
    step = next_step(HEAD, MERGE, "me", Worked())
    assert (step.step, step.take) == (Step.DEPLOY, MERGE)


@pytest.mark.parametrize("head", [replace(HEAD, worker=None), replace(HEAD, worker=Worker("another", 2))])
def test_an_execution_that_is_not_the_worker_stops(head):
    assert next_step(head, MERGE, "me", Worked()).step is Step.STOP
    assert not works_here(head, "me")


@pytest.mark.parametrize("rounds", [0, ROUNDS_PER_EXECUTION])
def test_what_is_in_flight_comes_before_everything_else(rounds):
    step = next_step(replace(HEAD, in_flight="deployment"), MANUAL, "me", Worked(rounds))
    assert (step.step, step.take) == (Step.DEPLOY, None)


@pytest.mark.parametrize(("first", "lock"), [(None, None), (MERGE, any_lock())])
def test_a_worker_waits_when_nothing_may_be_taken(first, lock):
    step = next_step(replace(HEAD, lock=lock), first, "me", Worked(ROUNDS_PER_EXECUTION - 1))
    assert step.step is Step.WAIT
    assert ("locked" in step.reason) is (lock is not None)


@pytest.mark.parametrize(
    ("worked", "step"),
    [
        (Worked(ROUNDS_PER_EXECUTION - 1), Step.DEPLOY),
        (Worked(ROUNDS_PER_EXECUTION), Step.HAND_OVER),
        (Worked(1, EXECUTION_AGE - timedelta(seconds=1)), Step.DEPLOY),
        (Worked(1, EXECUTION_AGE), Step.HAND_OVER),
    ],
)
def test_a_worker_hands_over_after_many_rounds_or_in_old_age(worked, step):
    assert next_step(HEAD, MERGE, "me", worked).step is step


@pytest.mark.parametrize("worked", [Worked(ROUNDS_PER_EXECUTION), Worked(1, EXECUTION_AGE)])
@pytest.mark.parametrize("lock", [None, any_lock()])
def test_a_worker_whose_signals_change_nothing_hands_over_as_well(worked, lock):
    first = MERGE if lock else None
    assert next_step(replace(HEAD, lock=lock), first, "me", worked).step is Step.HAND_OVER


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
    lock = lock_at_end(ended, None, NOW)
    assert lock is not None
    assert (lock.by, lock.at, lock.revision, lock.deployment) == ("tidegate", NOW, ended.revision.sha, ended.id)


@pytest.mark.parametrize("trigger", Trigger)
def test_only_a_deployment_by_hand_locks_when_it_is_let_in(trigger):
    lock = lock_when_let_in(deployment_in(State.PLANNING, trigger=trigger), None, NOW)
    assert (lock is not None) is (trigger is Trigger.MANUAL)


def test_the_resume_of_a_clusters_workflow_leaves_the_queue_as_it_is():
    request = replace(any_deployment(trigger=Trigger.MANUAL).request, resumes=True)
    resume = replace(deployment_in(State.PLANNING), request=request)
    assert lock_when_let_in(resume, None, NOW) is None
    assert lock_when_let_in(resume, any_lock(), NOW) == any_lock()


def test_a_lock_remembers_only_the_one_that_it_replaced():
    first, second, third = (any_deployment(number, trigger=Trigger.MANUAL) for number in (1, 2, 3))
    lock = None
    for deployment in (first, second, third):
        lock = lock_when_let_in(deployment, lock, NOW)
    assert lock is not None
    assert lock.before is not None
    assert (lock.deployment, lock.before.deployment, lock.before.before) == (third.id, second.id, None)


@pytest.mark.parametrize("state", [state for state in State if is_final(state) and state is not State.OUTCOME_UNKNOWN])
def test_a_lock_of_somebody_else_is_left_alone(state):
    assert lock_at_end(deployment_in(state), any_lock(), NOW) == any_lock()
    assert lock_at_end(deployment_in(state), None, NOW) is None


@pytest.mark.parametrize("state", [state for state in State if is_final(state)])
def test_what_was_let_in_is_the_latest_attempt_however_it_ended(state):
    ended, before = deployment_in(state, 2), any_deployed()
    after = attempt_after(ended, before)
    assert after is not None
    assert (after.deployment == ended.id) is (state not in {State.REFUSED, State.SUPERSEDED})


def test_what_is_run_again_goes_after_what_is_asked_for_by_hand_and_before_merges_and_drift_goes_last():
    line = [waiting_for(any_deployment(trigger=trigger)) for trigger in Trigger]
    assert [waiting.trigger for waiting in sorted(line, key=order)] == [
        Trigger.MANUAL,
        Trigger.RERUN,
        Trigger.MERGE,
        Trigger.DRIFT,
    ]


def test_a_queue_knows_its_repository_and_its_root():
    assert (HEAD.home, HEAD.root_name) == ("acme/infra", "network")


@pytest.mark.parametrize("state", State)
def test_the_baseline_moves_to_what_may_have_been_applied(state):
    ended, before = deployment_in(state, 2), any_deployed()
    after = baseline_after(ended, before)
    assert after is not None
    assert after.deployment == (ended.id if moves_baseline(state) else before.deployment)
