"""A worker claims, waits, closes and hands over. What they do together, the queue machine in tests/contract drives."""

from __future__ import annotations

from tests.builders import any_deployment, any_lock
from tests.unit.deploys.queue.scenario import QUEUE
from tidegate.deploys.queue.close_worker import close_worker
from tidegate.deploys.queue.continue_as_new import continue_as_new
from tidegate.deploys.rules.queue import Worker
from tidegate.messages import (
    CloseWorker,
    ContinueAsNew,
)


def test_a_claim_takes_the_first_in_line_once(scenario):
    scenario.enqueue(any_deployment(1))
    scenario.enqueue(any_deployment(2))
    first, again = scenario.claim(), scenario.claim(rounds=1)
    assert (first.step, first.deployment) == ("deploy", any_deployment(1).id)
    assert again.deployment == first.deployment
    assert scenario.line == [any_deployment(2).id]
    assert scenario.head.worker.started


def test_a_stranger_claims_nothing(scenario):
    scenario.enqueue(any_deployment())
    claimed = scenario.claim(execution="stranger")
    assert (claimed.step, claimed.deployment) == ("stop", None)
    assert scenario.head.in_flight is None


def test_a_worker_with_nothing_to_take_waits_at_the_version_that_it_saw(scenario):
    scenario.enqueue(any_deployment())
    scenario.change(lock=any_lock())
    claimed = scenario.claim()
    assert (claimed.step, claimed.version) == ("wait", scenario.head.version)
    assert scenario.claim(rounds=1) == claimed


def test_a_worker_that_looked_at_an_older_queue_is_woken_at_once(scenario):
    scenario.enqueue(any_deployment())
    scenario.lock_by(any_deployment(9))
    claimed = scenario.claim()
    scenario.unlock()
    scenario.workflows.waiting.add("token")
    scenario.wait(claimed.version)
    assert list(scenario.workflows.settled) == ["token"]
    assert scenario.head.token is None


def test_an_execution_that_lost_its_queue_is_woken_at_once(idle):
    idle.workflows.waiting.add("other")
    idle.wait(idle.head.version, "other", execution="stranger")
    assert list(idle.workflows.settled) == ["other"]
    assert idle.head.token == "token"


def test_a_token_is_left_once(idle):
    before = idle.head
    idle.wait(before.version - 1)
    assert idle.head == before
    assert idle.workflows.settled == {}


def test_waking_a_worker_that_has_timed_out_is_no_error(idle):
    idle.wait(0, "gone")
    assert idle.head.token == "token"


def test_an_idle_worker_is_closed_and_the_next_deployment_gets_the_next_one(idle):
    execution = idle.head.worker.execution
    message = CloseWorker(queue=QUEUE, execution=execution)
    assert close_worker(idle.ports, message).closed
    assert close_worker(idle.ports, message).closed
    assert (idle.head.worker, idle.head.token) == (None, None)
    idle.enqueue(any_deployment(2))
    assert [name for name, _ in idle.workflows.starts] == [execution, idle.head.worker.execution]
    assert idle.head.generation == 2


def test_a_worker_is_not_closed_when_there_is_work(idle):
    idle.enqueue(any_deployment(2))
    message = CloseWorker(queue=QUEUE, execution=idle.head.worker.execution)
    assert not close_worker(idle.ports, message).closed
    assert idle.head.worker is not None


def test_a_queue_is_handed_over_to_the_next_generation_once(scenario):
    scenario.enqueue(any_deployment())
    old = scenario.head.worker.execution
    message = ContinueAsNew(queue=QUEUE, execution=old)
    continue_as_new(scenario.ports, message)
    continue_as_new(scenario.ports, message)
    assert scenario.head.worker == Worker(scenario.head.worker.execution, 2)
    assert [name for name, _ in scenario.workflows.starts] == [old, scenario.head.worker.execution]


def test_an_old_worker_hands_over_before_it_claims_more(scenario):
    scenario.enqueue(any_deployment())
    assert scenario.claim(started="2025-09-03T07:59:59.123Z").step == "hand over"
    assert scenario.head.in_flight is None
    assert scenario.claim(started="2025-09-04T07:59:59.123Z").step == "deploy"


def test_a_queue_without_work_is_released_and_the_next_deployment_starts_the_next_generation(idle):
    execution = idle.head.worker.execution
    message = ContinueAsNew(queue=QUEUE, execution=execution)
    continue_as_new(idle.ports, message)
    continue_as_new(idle.ports, message)
    assert (idle.head.worker, idle.head.token, len(idle.workflows.starts)) == (None, None, 1)
    idle.enqueue(any_deployment(2))
    assert [name for name, _ in idle.workflows.starts] == [execution, idle.head.worker.execution]
