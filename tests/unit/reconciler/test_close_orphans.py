from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_job, deployment_in
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.state import State
from tidegate.reconciler.close_orphans import close_orphans
from tidegate.rules.errors import CloudUnavailable, Conflict


def _state(scenario, deployment):
    return scenario.deployments.get(deployment.id).state


def test_a_deployment_that_is_in_no_line_and_not_in_flight_is_ended_with_a_reason(scenario):
    orphan = scenario.put(deployment_in(State.PLANNING))
    assert scenario.take_turn(close_orphans) == 1
    ended = scenario.deployments.get(orphan.id)
    assert ended.state is State.ENGINE_FAULT
    assert "nothing was applied" in ended.reason
    assert [each.state for each in scenario.event_publisher.announced] == [State.ENGINE_FAULT]
    assert scenario.take_turn(close_orphans) == 0


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_an_orphan_at_a_gate_is_ended_and_those_that_wait_for_it_hear_of_it(scenario, state):
    orphan = scenario.put(deployment_in(state, change_set="change-1"))
    assert scenario.take_turn(close_orphans) == 1
    assert _state(scenario, orphan) is State.ENGINE_FAULT
    assert scenario.event_publisher.moved == ["change-1"]


def test_an_orphan_whose_apply_was_taken_locks_its_queue_and_leaves_its_worker_to_it(scenario):
    orphan = scenario.put(deployment_in(State.APPLYING))
    scenario.jobs.create(any_job(JobKind.APPLY, id=orphan.apply.job))
    scenario.jobs.hand_over(orphan.apply.job, "token", "clone-token")
    scenario.jobs.take(orphan.apply.job, "runner-1")
    other = any_deployment(2)
    scenario.work_on(scenario.claim(other), "worker-1")
    assert scenario.take_turn(close_orphans) == 1
    assert _state(scenario, orphan) is State.OUTCOME_UNKNOWN
    head, _ = scenario.queues.read(orphan.queue)
    assert (head.in_flight, head.worker.execution) == (other.id, "worker-1")
    assert head.lock.deployment == orphan.id
    assert {head.deployed.deployment, head.attempted.deployment} == {orphan.id}
    assert [message.state for message in scenario.audit.published] == ["UNKNOWN"]


def test_an_orphan_that_applied_nothing_leaves_what_later_revisions_are_compared_with(scenario):
    orphan = scenario.put(deployment_in(State.PLANNING))
    head, _ = scenario.queues.read(orphan.queue)
    scenario.queues.commit(head, replace(head, deployed=any_deployed(2), attempted=any_deployed(2)))
    assert scenario.take_turn(close_orphans) == 1
    head, _ = scenario.queues.read(orphan.queue)
    assert (head.deployed, head.attempted, head.lock) == (any_deployed(2), any_deployed(2), None)


def test_an_end_that_was_decided_and_never_told_is_told_now(scenario):
    ending = Ending(State.APPLIED, "", "", "", NOW)
    orphan = scenario.put(deployment_in(State.APPLYING, ending=ending))
    scenario.audit.unavailable = True
    assert scenario.take_turn(close_orphans) == 0
    assert [type(failure) for failure in scenario.failures] == [CloudUnavailable]
    scenario.audit.unavailable = False
    assert scenario.take_turn(close_orphans) == 1
    assert _state(scenario, orphan) is State.APPLIED
    assert [message.state for message in scenario.audit.published] == ["SUCCESS"]


def test_a_deployment_that_waits_for_its_turn_and_is_in_no_line_is_put_back_once(scenario):
    orphan = scenario.put(any_deployment())
    assert scenario.take_turn(close_orphans) == 1
    assert [waiting.deployment for waiting in scenario.queues.waiting(orphan.queue)] == [orphan.id]
    assert scenario.event_publisher.announced == [orphan]
    assert scenario.started == [orphan.queue]
    assert scenario.take_turn(close_orphans) == 0
    assert len(scenario.queues.waiting(orphan.queue)) == 1


def test_what_is_in_line_or_in_flight_is_left_alone(scenario):
    scenario.claim(any_deployment())
    scenario.enqueue(any_deployment(2))
    assert scenario.take_turn(close_orphans) == 0


def test_what_has_ended_is_left_alone(scenario):
    scenario.put(deployment_in(State.APPLIED))
    assert scenario.take_turn(close_orphans) == 0


def test_what_ends_at_this_moment_is_left_alone(scenario):
    orphan = scenario.put(deployment_in(State.PLANNING))
    read = scenario.queues.read

    def ends_meanwhile(queue):
        scenario.queues.read = read
        scenario.deployments.save(orphan.ended(Ending(State.NO_CHANGES, "", "", "", NOW)))
        return read(queue)

    scenario.queues.read = ends_meanwhile
    assert scenario.take_turn(close_orphans) == 0
    assert _state(scenario, orphan) is State.NO_CHANGES


def test_a_queue_that_changes_meanwhile_is_looked_at_again(scenario):
    orphan = scenario.put(any_deployment())
    commit = scenario.queues.commit

    def changes_meanwhile(*arguments, **fields):
        scenario.queues.commit = commit
        raise Conflict(orphan.queue)

    scenario.queues.commit = changes_meanwhile
    assert scenario.take_turn(close_orphans) == 1
    assert len(scenario.queues.waiting(orphan.queue)) == 1


def test_a_record_that_has_expired_is_passed_over(scenario):
    scenario.deployments.unshown = lambda: ["gone"]
    assert scenario.take_turn(close_orphans) == 0
    assert scenario.failures == []


def test_an_orphan_that_cannot_be_ended_keeps_no_other_from_it(scenario):
    first, second = (scenario.put(deployment_in(State.PLANNING, number)) for number in (1, 2))

    commit = scenario.queues.commit

    def refused(*heads, deployment=None):
        if deployment.id == first.id:
            raise Conflict(first.queue)
        commit(*heads, deployment=deployment)

    scenario.queues.commit = refused
    assert scenario.take_turn(close_orphans) == 1
    assert [_state(scenario, each) for each in (first, second)] == [State.PLANNING, State.ENGINE_FAULT]
    assert len(scenario.failures) == 1
