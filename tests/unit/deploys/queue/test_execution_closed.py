"""Executions that close otherwise than by their own decision."""

from __future__ import annotations

import pytest

from tests.builders import any_deployed, any_deployment, deployment_in
from tests.unit.deploys.queue.scenario import QUEUE, applying
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.queue.execution_closed import ClosedExecution, release_queue
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import CloudUnavailable


def release(scenario, execution, status="ABORTED"):
    release_queue(scenario.ports, ClosedExecution(QUEUE, execution, status))


def test_a_deployment_that_has_not_begun_returns_to_the_line_and_gets_a_new_worker(scenario):
    execution = scenario.in_flight(any_deployment(1))
    scenario.enqueue(any_deployment(2))
    release(scenario, execution)
    assert scenario.line == [any_deployment(1).id, any_deployment(2).id]
    assert scenario.head.in_flight is None
    assert scenario.workflows.starts[-1] == (scenario.head.worker.execution, QUEUE)
    assert scenario.head.worker.execution != execution


@pytest.mark.parametrize("state", [State.PLANNING, State.GATED, State.BLOCKED, State.AWAITING_REVIEW, State.APPROVED])
def test_a_deployment_that_has_begun_ends_as_a_fault(scenario, state):
    execution = scenario.in_flight(deployment_in(state))
    release(scenario, execution)
    ended = scenario.deployments.get(any_deployment().id)
    assert ended.state is State.ENGINE_FAULT
    assert "ABORTED" in ended.reason
    assert (scenario.head.worker, scenario.head.in_flight, scenario.line) == (None, None, [])


def test_a_deployment_that_had_ended_is_recorded(scenario):
    execution = scenario.in_flight(deployment_in(State.APPLIED))
    release(scenario, execution, "FAILED")
    assert scenario.head.deployed == any_deployed()
    assert scenario.head.in_flight is None


def test_an_apply_that_was_running_is_unknown(scenario):
    release(scenario, applying(scenario, taken=True))
    assert scenario.deployments.get(any_deployment().id).state is State.OUTCOME_UNKNOWN
    assert scenario.head.lock is not None


def test_after_a_failure_of_its_own_the_reconciler_starts_the_new_worker(scenario):
    execution = scenario.in_flight(any_deployment())
    release(scenario, execution, "FAILED")
    assert scenario.line == [any_deployment().id]
    assert scenario.head.worker is None
    ensure_worker(scenario.ports, QUEUE)
    assert len(scenario.workflows.starts) == 2


def test_an_idle_worker_that_died_is_taken_off(idle):
    release(idle, idle.head.worker.execution)
    assert (idle.head.worker, idle.head.token) == (None, None)


def test_an_execution_that_is_not_the_worker_any_more_changes_nothing(scenario):
    execution = scenario.in_flight(any_deployment())
    release(scenario, execution)
    before = scenario.head
    release(scenario, execution)
    assert scenario.head == before


@pytest.mark.parametrize("status", ["ABORTED", "FAILED"])
def test_a_release_whose_announcement_failed_announces_it_when_it_comes_again(unheard, status):
    execution = unheard.in_flight(deployment_in(State.AWAITING_REVIEW))
    unheard.event_publisher.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution, status)
    release(unheard, execution, status)
    assert unheard.event_publisher.announced[-1].state is State.ENGINE_FAULT
    assert unheard.event_publisher.refreshed == [any_deployment().id]


def test_a_release_that_put_a_deployment_back_without_announcing_it_does_so_when_it_comes_again(unheard):
    execution = unheard.in_flight(any_deployment())
    unheard.event_publisher.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution)
    release(unheard, execution)
    assert unheard.event_publisher.refreshed == [any_deployment().id]
    assert unheard.line == [any_deployment().id]
    assert unheard.head.worker.execution != execution


def test_a_release_whose_lock_was_not_shown_shows_it_to_who_waits_when_it_comes_again(unheard):
    execution = applying(unheard, taken=True)
    unheard.enqueue(any_deployment(2))
    unheard.event_publisher.refusals = 1
    with pytest.raises(CloudUnavailable):
        release(unheard, execution)
    release(unheard, execution)
    assert unheard.event_publisher.lines[-1] == QUEUE
    assert any_deployment().id in unheard.event_publisher.refreshed


def test_a_stranger_that_closes_before_anything_ended_announces_nothing(scenario):
    scenario.enqueue(any_deployment())
    release(scenario, "stranger", "FAILED")
    assert scenario.event_publisher.refreshed == []
