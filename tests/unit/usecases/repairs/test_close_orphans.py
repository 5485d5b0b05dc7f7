from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_job, deployment_in
from tidegate.deploys.rules.job import JobKind
from tidegate.deploys.rules.outcome import Ending
from tidegate.deploys.rules.state import State
from tidegate.reconciler.close_orphans import close_orphans
from tidegate.rules.errors import CloudUnavailable, Conflict


def _state(world, deployment):
    return world.deployments.get(deployment.id).state


def test_a_deployment_that_is_in_no_line_and_not_in_flight_is_ended_with_a_reason(world):
    orphan = world.put(deployment_in(State.PLANNING))
    assert world.take_turn(close_orphans) == 1
    ended = world.deployments.get(orphan.id)
    assert ended.state is State.ENGINE_FAULT
    assert "nothing was applied" in ended.reason
    assert [each.state for each in world.event_publisher.announced] == [State.ENGINE_FAULT]
    assert world.take_turn(close_orphans) == 0


@pytest.mark.parametrize("state", [State.GATED, State.BLOCKED])
def test_an_orphan_at_a_gate_is_ended_and_those_that_wait_for_it_hear_of_it(world, state):
    orphan = world.put(deployment_in(state, change_set="change-1"))
    assert world.take_turn(close_orphans) == 1
    assert _state(world, orphan) is State.ENGINE_FAULT
    assert world.event_publisher.moved == ["change-1"]


def test_an_orphan_whose_apply_was_taken_locks_its_queue_and_leaves_its_worker_to_it(world):
    orphan = world.put(deployment_in(State.APPLYING))
    world.jobs.create(any_job(JobKind.APPLY, id=orphan.apply.job))
    world.jobs.hand_over(orphan.apply.job, "token", "clone-token")
    world.jobs.take(orphan.apply.job, "runner-1")
    other = any_deployment(2)
    world.work_on(world.claim(other), "worker-1")
    assert world.take_turn(close_orphans) == 1
    assert _state(world, orphan) is State.OUTCOME_UNKNOWN
    head, _ = world.queues.read(orphan.queue)
    assert (head.in_flight, head.worker.execution) == (other.id, "worker-1")
    assert head.lock.deployment == orphan.id
    assert {head.deployed.deployment, head.attempted.deployment} == {orphan.id}
    assert [message.state for message in world.audit.published] == ["UNKNOWN"]


def test_an_orphan_that_applied_nothing_leaves_what_later_revisions_are_compared_with(world):
    orphan = world.put(deployment_in(State.PLANNING))
    head, _ = world.queues.read(orphan.queue)
    world.queues.commit(head, replace(head, deployed=any_deployed(2), attempted=any_deployed(2)))
    assert world.take_turn(close_orphans) == 1
    head, _ = world.queues.read(orphan.queue)
    assert (head.deployed, head.attempted, head.lock) == (any_deployed(2), any_deployed(2), None)


def test_an_end_that_was_decided_and_never_told_is_told_now(world):
    ending = Ending(State.APPLIED, "", "", "", NOW)
    orphan = world.put(deployment_in(State.APPLYING, ending=ending))
    world.audit.unavailable = True
    assert world.take_turn(close_orphans) == 0
    assert [type(failure) for failure in world.failures] == [CloudUnavailable]
    world.audit.unavailable = False
    assert world.take_turn(close_orphans) == 1
    assert _state(world, orphan) is State.APPLIED
    assert [message.state for message in world.audit.published] == ["SUCCESS"]


def test_a_deployment_that_waits_for_its_turn_and_is_in_no_line_is_put_back_once(world):
    orphan = world.put(any_deployment())
    assert world.take_turn(close_orphans) == 1
    assert [waiting.deployment for waiting in world.queues.waiting(orphan.queue)] == [orphan.id]
    assert world.event_publisher.announced == [orphan]
    assert world.started == [orphan.queue]
    assert world.take_turn(close_orphans) == 0
    assert len(world.queues.waiting(orphan.queue)) == 1


def test_what_is_in_line_or_in_flight_is_left_alone(world):
    world.claim(any_deployment())
    world.enqueue(any_deployment(2))
    assert world.take_turn(close_orphans) == 0


def test_what_has_ended_is_left_alone(world):
    world.put(deployment_in(State.APPLIED))
    assert world.take_turn(close_orphans) == 0


def test_what_ends_at_this_moment_is_left_alone(world):
    orphan = world.put(deployment_in(State.PLANNING))
    read = world.queues.read

    def ends_meanwhile(queue):
        world.queues.read = read
        world.deployments.save(orphan.ended(Ending(State.NO_CHANGES, "", "", "", NOW)))
        return read(queue)

    world.queues.read = ends_meanwhile
    assert world.take_turn(close_orphans) == 0
    assert _state(world, orphan) is State.NO_CHANGES


def test_a_queue_that_changes_meanwhile_is_looked_at_again(world):
    orphan = world.put(any_deployment())
    commit = world.queues.commit

    def changes_meanwhile(*arguments, **fields):
        world.queues.commit = commit
        raise Conflict(orphan.queue)

    world.queues.commit = changes_meanwhile
    assert world.take_turn(close_orphans) == 1
    assert len(world.queues.waiting(orphan.queue)) == 1


def test_a_record_that_has_expired_is_passed_over(world):
    world.deployments.unshown = lambda: ["gone"]
    assert world.take_turn(close_orphans) == 0
    assert world.failures == []


def test_an_orphan_that_cannot_be_ended_keeps_no_other_from_it(world):
    first, second = (world.put(deployment_in(State.PLANNING, number)) for number in (1, 2))

    commit = world.queues.commit

    def refused(*heads, deployment=None):
        if deployment.id == first.id:
            raise Conflict(first.queue)
        commit(*heads, deployment=deployment)

    world.queues.commit = refused
    assert world.take_turn(close_orphans) == 1
    assert [_state(world, each) for each in (first, second)] == [State.PLANNING, State.ENGINE_FAULT]
    assert len(world.failures) == 1
