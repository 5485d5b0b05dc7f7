"""Queues whose worker ended unheard, that have work and no worker, or whose line nobody looks at."""

from __future__ import annotations

import pytest

from tests.builders import any_deployment, any_lock, any_root, deployment_in
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.reconciler.refresh_all_positions import refresh_all_positions
from tidegate.reconciler.release_queues import WATCHED, release_queues
from tidegate.reconciler.start_workers import start_workers
from tidegate.rules.errors import CloudUnavailable


def _enqueue(scenario, name="network"):
    return scenario.enqueue(any_deployment(id=f"merge-{name}", root=any_root(name=name)))


def test_a_queue_with_something_to_take_is_woken(scenario):
    scenario.enqueue(any_deployment())
    assert scenario.take_turn(start_workers) == 1
    assert scenario.started == [any_deployment().queue]


def test_a_queue_with_a_deployment_in_flight_is_woken(scenario):
    scenario.claim(any_deployment())
    assert scenario.take_turn(start_workers) == 1


def test_a_locked_queue_sleeps_unless_a_manual_deployment_waits(scenario):
    scenario.lock(scenario.enqueue(any_deployment()), any_lock())
    assert scenario.take_turn(start_workers) == 0
    scenario.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    assert scenario.take_turn(start_workers) == 1


def test_a_queue_that_cannot_be_woken_keeps_no_other_from_it(scenario):
    for name in ("network", "dns"):
        _enqueue(scenario, name)
    scenario.workflows.refusals = 1
    assert scenario.take_turn(start_workers) == 1
    assert len(scenario.started) == 1
    assert [type(failure) for failure in scenario.failures] == [CloudUnavailable]


@pytest.mark.parametrize("started", [True, False])
def test_a_queue_is_taken_from_an_execution_whose_end_nobody_heard_of(scenario, started):
    planning = deployment_in(State.PLANNING)
    queue = scenario.claim(planning)
    scenario.deployments.save(planning)
    scenario.work_on(queue, "worker-1", started=started)
    scenario.workflows.start_deploy("worker-1", queue)
    assert scenario.take_turn(release_queues) == 0
    scenario.workflows.endings["worker-1"] = "TIMED_OUT"
    assert scenario.take_turn(release_queues) == 1
    assert scenario.worker(queue) is None
    assert "TIMED_OUT" in scenario.deployments.get(planning.id).reason


def test_a_queue_that_nobody_works_on_is_taken_from_nobody(scenario):
    _enqueue(scenario)
    assert scenario.take_turn(release_queues) == 0


def test_a_queue_is_taken_from_a_dead_execution_even_while_only_merges_wait_behind_its_lock(scenario):
    queue = _enqueue(scenario)
    scenario.work_on(queue, "worker-1")
    scenario.workflows.start_deploy("worker-1", queue)
    scenario.workflows.endings["worker-1"] = "ABORTED"
    scenario.lock(queue, any_lock())
    assert scenario.take_turn(release_queues) == 1
    assert scenario.worker(queue) is None


def test_an_execution_that_is_unknown_has_ended_only_if_it_had_begun(scenario):
    queue = _enqueue(scenario)
    scenario.work_on(queue, "worker-1", started=False)
    assert scenario.take_turn(release_queues) == 0
    scenario.work_on(queue, "worker-1")
    assert scenario.take_turn(release_queues) == 1


def test_when_it_cannot_be_told_whether_an_execution_runs_its_queue_stays_its_own(scenario):
    queue = _enqueue(scenario)
    scenario.work_on(queue, "worker-1")
    scenario.workflows.refusals = 1
    assert scenario.take_turn(release_queues) == 0
    assert scenario.worker(queue) == "worker-1"
    assert [type(failure) for failure in scenario.failures] == [CloudUnavailable]


def test_a_line_whose_message_was_lost_is_looked_at_again_once_in_a_run(scenario):
    queue = scenario.claim(any_deployment())
    scenario.enqueue(any_deployment(2))
    assert scenario.take_turn(refresh_all_positions) == 1
    assert scenario.event_publisher.lines == [queue]


def test_a_lock_without_a_line_is_looked_at_and_a_deployment_that_runs_alone_is_not(scenario):
    queue = scenario.claim(any_deployment())
    assert scenario.take_turn(refresh_all_positions) == 0
    scenario.lock(queue, any_lock())
    assert scenario.take_turn(refresh_all_positions) == 1
    assert scenario.event_publisher.lines == [queue]


def test_with_many_queues_each_has_its_turn(scenario):
    for number in range(WATCHED + 50):
        scenario.work_on(_enqueue(scenario, f"root-{number}"), f"worker-{number}")
    assert scenario.take_turn(release_queues) == WATCHED
    for _ in range(10):
        scenario.clock.advance(300)
        scenario.take_turn(release_queues)
    assert len(set(scenario.started)) == WATCHED + 50
