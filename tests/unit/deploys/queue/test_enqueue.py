"""A deployment that is put in line, and the worker that it gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_lock
from tests.fakes.ports import changed
from tests.unit.deploys.queue.scenario import QUEUE, manual
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.queue.enqueue import enqueue
from tidegate.deploys.queue.ensure_worker import ensure_worker
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.rules.decide_again import TRIES, deciding_again
from tidegate.rules.errors import CloudUnavailable, Conflict, OversizedRecord


def test_an_enqueued_deployment_is_announced_and_gets_a_worker(scenario):
    assert scenario.enqueue(any_deployment())
    assert scenario.event_publisher.announced == [any_deployment().begun()]
    assert scenario.event_publisher.lines == [QUEUE]
    assert scenario.workflows.starts == [(scenario.head.worker.execution, QUEUE)]


def test_enqueued_twice_a_deployment_is_in_line_once_and_shown_as_it_is(scenario):
    scenario.enqueue(any_deployment())
    stored = scenario.deployments.save(replace(any_deployment().begun(), reason="Something happened."))
    assert not scenario.enqueue(any_deployment())
    assert scenario.line == [any_deployment().id]
    assert scenario.event_publisher.announced[-1] == stored
    assert len(scenario.workflows.starts) == 1


class Small:
    """Queues that take no record with a long text in it, as the table takes none of more than 400 KB."""

    def __init__(self, queues):
        self._queues = queues

    def __getattr__(self, name):
        return getattr(self._queues, name)

    def enqueue(self, deployment, seen=None):
        if len(repr(deployment)) > 10_000:
            raise OversizedRecord(deployment.id)
        return self._queues.enqueue(deployment, seen)


@pytest.mark.parametrize("is_seen", [True, False])
def test_what_is_too_large_to_be_stored_is_refused_with_what_to_do(scenario, is_seen):
    large = any_deployment(why="x" * 20_000, waits=Waits(roots=tuple(f"root-{number}" for number in range(2000))))
    seen = scenario.queues.read(QUEUE) if is_seen else None
    enqueue(changed(scenario.ports, queues=Small(scenario.queues)), large, seen)
    scenario.claim()
    assert not scenario.validate(large).allowed
    refused = scenario.deployments.get(large.id)
    assert refused.state is State.REFUSED
    assert refused.reason.startswith("The record of this deployment exceeds")


class Reads:
    """Queues that count how often they are read."""

    def __init__(self, queues):
        self._queues, self.count = queues, 0

    def __getattr__(self, name):
        self.count += name == "read"
        return getattr(self._queues, name)


def counting(scenario):
    """Return the scenario's ports with queues that count their reads, and these queues."""
    reads = Reads(scenario.queues)
    return changed(scenario.ports, queues=reads), reads


def test_a_queue_that_was_seen_is_not_read_again_to_start_its_worker(scenario):
    ports, reads = counting(scenario)
    assert enqueue(ports, any_deployment(), scenario.queues.read(QUEUE))
    assert scenario.workflows.starts == [(scenario.head.worker.execution, QUEUE)]
    assert reads.count == 0


def test_a_queue_that_was_seen_is_not_read_again_to_wake_its_worker(idle):
    ports, reads = counting(idle)
    assert enqueue(ports, any_deployment(2), idle.queues.read(QUEUE))
    assert list(idle.workflows.settled) == ["token"]
    assert reads.count == 0


def test_a_worker_that_waits_since_its_queue_was_seen_is_woken(scenario):
    seen = scenario.queues.read(QUEUE)
    scenario.in_flight(any_deployment())
    scenario.change(in_flight=None, token="token")
    scenario.workflows.waiting.add("token")
    assert scenario.enqueue(any_deployment(2), seen)
    assert list(scenario.workflows.settled) == ["token"]


def test_enqueued_twice_upon_what_was_seen_a_deployment_is_in_line_once_and_has_a_worker(scenario):
    seen = scenario.queues.read(QUEUE)
    scenario.queues.enqueue(any_deployment())
    assert not scenario.enqueue(any_deployment(), seen)
    assert scenario.line == [any_deployment().id]
    assert len(scenario.workflows.starts) == 1


def test_a_worker_is_woken_for_who_was_seen_in_line_before_a_merge_that_a_lock_holds_back(idle):
    idle.change(lock=any_lock())
    idle.queues.enqueue(any_deployment(2, trigger=Trigger.MANUAL))
    idle.enqueue(any_deployment(3), idle.queues.read(QUEUE))
    assert list(idle.workflows.settled) == ["token"]


def test_a_queue_that_changes_before_its_worker_is_written_is_read_again(scenario):
    class Busy(Reads):
        def commit(self, *arguments, **named):
            if self.count == 0:
                raise Conflict(QUEUE)
            return self._queues.commit(*arguments, **named)

    ports = changed(scenario.ports, queues=Busy(scenario.queues))
    assert enqueue(ports, any_deployment(), scenario.queues.read(QUEUE))
    assert len(scenario.workflows.starts) == 1


def test_a_throttled_start_is_made_up_for_when_the_message_comes_again(scenario):
    scenario.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        scenario.enqueue(any_deployment())
    assert scenario.workflows.starts == []
    scenario.enqueue(any_deployment())
    assert scenario.workflows.starts == [(scenario.head.worker.execution, QUEUE)]
    assert scenario.head.generation == 1


def test_a_worker_at_work_is_left_alone(scenario):
    scenario.in_flight(any_deployment())
    scenario.enqueue(any_deployment(2))
    assert len(scenario.workflows.starts) == 1
    assert scenario.workflows.settled == {}


def test_a_waiting_worker_is_woken(idle):
    idle.enqueue(any_deployment(2))
    assert list(idle.workflows.settled) == ["token"]


def test_a_throttled_wake_up_is_made_up_for(idle):
    idle.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        idle.enqueue(any_deployment(2))
    ensure_worker(idle.ports, QUEUE)
    assert list(idle.workflows.settled) == ["token"]


def test_a_wake_up_that_comes_too_late_is_no_error(idle):
    idle.workflows.waiting.clear()
    idle.enqueue(any_deployment(2))
    assert idle.line == [any_deployment(2).id]


def test_a_locked_queue_does_not_wake_its_worker_for_a_merge(idle):
    idle.change(lock=any_lock())
    idle.enqueue(any_deployment(2))
    assert idle.workflows.settled == {}
    idle.enqueue(any_deployment(3, trigger=Trigger.MANUAL))
    assert list(idle.workflows.settled) == ["token"]


def test_an_empty_queue_gets_no_worker(scenario):
    ensure_worker(scenario.ports, QUEUE)
    assert scenario.workflows.starts == []


def test_a_forced_deploy_is_audited_before_it_is_in_line(scenario):
    forced = manual(forced=True)
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.enqueue(forced)
    assert scenario.line == []
    scenario.audit.unavailable = False
    scenario.enqueue(forced)
    assert scenario.audit.states == ["FORCED"]
    assert [audited.state for audited in scenario.deployments.get(forced.id).audited] == ["FORCED"]


def test_a_decision_is_made_again_after_conflicts_and_not_forever():
    tries = []

    def decide(conflicts):
        tries.append(NOW)
        if len(tries) <= conflicts:
            raise Conflict("The queue")
        return "decided"

    assert deciding_again(lambda: decide(TRIES - 1)) == "decided"
    tries.clear()
    with pytest.raises(Conflict):
        deciding_again(lambda: decide(TRIES))
    assert len(tries) == TRIES
