"""How a deployment ends in its queue."""

from __future__ import annotations

import pytest

from tests.builders import any_deployed, any_deployment, any_job, any_lock, any_revision, deployment_in
from tests.unit.deploys.queue.scenario import QUEUE, Scenario, applying
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import CloudUnavailable


def test_an_applied_deployment_becomes_the_baseline_and_frees_the_queue(scenario):
    scenario.in_flight(deployment_in(State.APPLIED))
    assert scenario.record(any_deployment()) == "applied"
    assert scenario.head.in_flight is None
    assert scenario.head.deployed == scenario.head.attempted == any_deployed()
    assert scenario.head.lock is None


def test_an_outcome_is_recorded_once_and_announced_again(scenario):
    scenario.in_flight(deployment_in(State.APPLIED))
    scenario.record(any_deployment())
    before, announced = scenario.head, len(scenario.event_publisher.announced)
    assert scenario.record(any_deployment(), "States.Timeout") == "applied"
    assert scenario.head == before
    assert len(scenario.event_publisher.announced) == announced + 1


def test_a_rejected_deployment_leaves_the_baseline(scenario):
    scenario.change(deployed=any_deployed(9))
    scenario.in_flight(deployment_in(State.REJECTED))
    scenario.record(any_deployment())
    assert scenario.head.deployed == any_deployed(9)
    assert scenario.head.attempted == any_deployed(state=State.REJECTED)


def test_an_apply_without_a_result_is_unknown_audited_and_locks_the_queue(scenario):
    applying(scenario, taken=True)
    scenario.enqueue(any_deployment(2))
    assert scenario.record(any_deployment(), "States.Timeout") == "outcome_unknown"
    assert scenario.head.lock.revision == any_revision().sha
    assert scenario.audit.states == ["UNKNOWN"]
    assert scenario.event_publisher.refreshed == [any_deployment().id]
    assert scenario.event_publisher.lines[-1] == QUEUE
    assert scenario.claim().step == "wait"


def test_an_apply_that_no_runner_took_is_closed_and_ends_as_a_fault(scenario):
    applying(scenario, taken=False)
    assert scenario.record(any_deployment(), "States.Timeout") == "engine_fault"
    assert not scenario.jobs.hand_over(any_job(JobKind.APPLY).id, "token", "clone")
    assert scenario.head.lock is None


def test_without_audit_an_apply_does_not_end(scenario):
    applying(scenario, taken=True)
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.record(any_deployment())
    assert scenario.head.in_flight == any_deployment().id
    scenario.audit.unavailable = False
    assert scenario.record(any_deployment()) == "outcome_unknown"


def test_a_lock_outlives_a_deployment_that_puts_none(scenario):
    scenario.change(lock=any_lock())
    manual = deployment_in(State.REJECTED, trigger=Trigger.MANUAL)
    scenario.in_flight(manual)
    scenario.record(manual)
    assert scenario.head.lock == any_lock()


def test_an_outcome_whose_announcement_failed_is_announced_with_its_lock_by_the_retry(unheard):
    applying(unheard, taken=True)
    unheard.enqueue(any_deployment(2))
    unheard.event_publisher.refusals = 1
    with pytest.raises(CloudUnavailable):
        unheard.record(any_deployment(), "States.Timeout")
    assert unheard.record(any_deployment(), "States.Timeout") == "outcome_unknown"
    assert unheard.event_publisher.announced[-1].state is State.OUTCOME_UNKNOWN
    assert unheard.event_publisher.refreshed == [any_deployment().id]


@pytest.mark.parametrize("state", [State.APPLIED, State.REFUSED, State.SUPERSEDED, State.PLAN_FAILED])
def test_the_end_of_a_part_of_a_change_has_its_gates_looked_at_each_time_it_is_recorded(scenario, state):
    deployment = deployment_in(state, change_set="change-1")
    scenario.in_flight(deployment)
    for _ in range(2):
        scenario.record(deployment)
    assert scenario.event_publisher.moved == ["change-1", "change-1"]


@pytest.mark.parametrize(("listed", "told"), [("acme/infra, acme/config", ["acme/infra"]), ("acme/config", [])])
def test_the_end_of_a_deployment_lets_environments_go_on_that_wait_for_it_if_the_repository_is_listed(listed, told):
    scenario = Scenario(settings={"TIDEGATE_UPDATE_REPOSITORIES": listed})
    scenario.in_flight(deployment_in(State.APPLIED))
    scenario.record(any_deployment())
    assert scenario.event_publisher.stacks == told


def test_the_end_of_a_deployment_on_its_own_asks_for_no_gates(scenario):
    scenario.in_flight(deployment_in(State.APPLIED))
    scenario.record(any_deployment())
    assert scenario.event_publisher.moved == []
