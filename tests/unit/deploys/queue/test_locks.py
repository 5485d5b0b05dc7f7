"""Who locks a queue, for how long, and who takes the lock away."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import NOW, any_deployed, any_deployment, any_lock, any_revision, deployment_in
from tests.unit.deploys.queue.scenario import LATER, QUEUE, manual
from tidegate.deploys.queue.publish_lock import publish_lock
from tidegate.deploys.rules.outcome import Unlocking
from tidegate.deploys.rules.state import State
from tidegate.rules.errors import CloudUnavailable, ForgeUnavailable
from tidegate.vcs.rules.comparison import Comparison


def test_a_deploy_by_hand_locks_when_it_is_let_in_and_names_who_when_and_what(scenario):
    scenario.in_flight(manual())
    assert scenario.head.lock is None
    scenario.validate(manual())
    lock = scenario.head.lock
    assert (lock.by, lock.revision, lock.deployment) == ("maintainer", any_revision().sha, manual().id)
    assert lock.at == scenario.deployments.get(manual().id).changed_at
    assert scenario.event_publisher.lines[-1] == QUEUE
    assert [(root, told) for _, root, told, _ in scenario.event_publisher.locks] == [("network", lock)]


def test_validated_again_a_deploy_by_hand_does_not_lock_again(scenario):
    scenario.in_flight(manual())
    scenario.validate(manual())
    scenario.unlock(at=LATER)
    assert scenario.validate(manual()).allowed
    assert scenario.head.lock is None


@pytest.mark.parametrize("state", [State.REJECTED, State.REVIEW_EXPIRED, State.PLAN_FAILED, State.ENGINE_FAULT])
def test_a_deploy_by_hand_that_changed_nothing_takes_its_lock_with_it(scenario, state):
    scenario.in_flight(manual())
    scenario.validate(manual())
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=state))
    scenario.record(manual())
    assert scenario.head.lock is None
    assert scenario.head.attempted.deployment == manual().id


@pytest.mark.parametrize("state", [State.APPLIED, State.NO_CHANGES, State.APPLY_FAILED])
def test_the_lock_of_a_deploy_by_hand_stays_when_it_may_have_changed_something(scenario, state):
    scenario.in_flight(manual())
    scenario.validate(manual())
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=state))
    scenario.record(manual())
    assert scenario.head.lock.deployment == manual().id


def test_a_rejected_deploy_by_hand_gives_back_the_lock_that_it_found(scenario):
    found = any_lock(deployment="earlier")
    scenario.change(lock=found)
    scenario.in_flight(manual())
    scenario.validate(manual())
    assert scenario.head.lock.deployment == manual().id
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=State.REJECTED))
    scenario.record(manual())
    assert scenario.head.lock == found


BY_HAND = any_lock(by="sre", reason="The vendor moves the database.")


def deploys_by_hand(scenario, number, state=State.APPLIED):
    one = manual(number=number)
    scenario.in_flight(one)
    assert scenario.validate(one).allowed
    scenario.deployments.save(replace(scenario.deployments.get(one.id), state=state))
    scenario.record(one)


@pytest.mark.parametrize(
    "ends", [[State.APPLIED], [State.APPLIED, State.APPLIED], [State.APPLY_FAILED, State.REJECTED]]
)
def test_who_unlocks_after_a_deploy_by_hand_leaves_what_somebody_else_locked_by_hand_before(scenario, ends):
    scenario.change(lock=BY_HAND)
    for number, state in enumerate(ends, start=1):
        deploys_by_hand(scenario, number, state)
    assert scenario.head.lock != BY_HAND
    for _ in range(2):  # The same once more changes nothing.
        decision = scenario.unlock(at=LATER)
        assert decision.done
        assert "manually before: The vendor moves the database." in decision.reason
        assert scenario.head.lock == BY_HAND
    assert scenario.unlock(by="sre", at=LATER + timedelta(microseconds=1)).done
    assert scenario.head.lock is None


def test_so_does_who_unlocks_after_an_outcome_that_is_unknown(scenario):
    scenario.change(lock=BY_HAND)
    deploys_by_hand(scenario, 1, State.OUTCOME_UNKNOWN)
    scenario.unlock(at=LATER)
    assert scenario.head.lock == BY_HAND


@pytest.mark.parametrize("lock", [replace(BY_HAND, expires_at=NOW), any_lock(deployment="earlier")])
def test_what_has_ended_and_what_another_deploy_by_hand_locked_does_not_come_back_by_an_unlock(scenario, lock):
    scenario.change(lock=lock)
    deploys_by_hand(scenario, 1)
    scenario.unlock(at=LATER)
    assert scenario.head.lock is None


def test_an_unlock_while_a_deploy_by_hand_runs_holds_after_its_end(scenario):
    scenario.in_flight(manual())
    scenario.validate(manual())
    assert scenario.unlock(at=LATER).done
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=State.APPLIED))
    scenario.record(manual())
    assert scenario.head.lock is None
    assert scenario.deployments.get(manual().id).outcome.unlocked == Unlocking("reviewer", LATER)


def test_an_outcome_that_is_unknown_locks_although_the_queue_was_unlocked(scenario):
    scenario.in_flight(manual())
    scenario.validate(manual())
    assert scenario.unlock(at=LATER).done
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=State.OUTCOME_UNKNOWN))
    scenario.record(manual())
    assert scenario.head.lock.by == "tidegate"


def test_a_diverged_revision_must_be_reviewed(scenario):
    scenario.change(deployed=any_deployed(2))
    scenario.forge.comparison = Comparison.DIVERGED
    scenario.in_flight(any_deployment(1))
    assert scenario.validate(any_deployment(1)).allowed
    before = scenario.deployments.get(any_deployment(1).id)
    assert before.planned.must_review
    assert scenario.validate(any_deployment(1)).allowed
    assert scenario.deployments.get(any_deployment(1).id) == before


def test_a_deployment_that_has_begun_is_not_judged_again(scenario):
    scenario.change(deployed=any_deployed(2))
    scenario.in_flight(deployment_in(State.AWAITING_REVIEW))
    assert scenario.validate(any_deployment()).allowed
    assert scenario.forge.compared == []


def test_a_deployment_that_is_not_in_flight_is_not_judged(scenario):
    scenario.enqueue(any_deployment())
    assert not scenario.validate(any_deployment()).allowed
    assert scenario.deployments.get(any_deployment().id) == any_deployment().begun()


def test_without_the_forge_nothing_is_decided(scenario):
    scenario.change(deployed=any_deployed(2))
    scenario.in_flight(any_deployment(1))
    scenario.forge.failures = [ForgeUnavailable("status 500")]
    with pytest.raises(ForgeUnavailable):
        scenario.validate(any_deployment(1))
    assert scenario.deployments.get(any_deployment(1).id).state is State.QUEUED


def test_unlocking_shows_what_waits_and_wakes_the_worker(idle):
    idle.lock_by(any_deployment(9))
    idle.enqueue(any_deployment(2))
    idle.event_publisher.lines.clear()
    assert idle.unlock().done
    assert idle.head.lock is None
    assert idle.event_publisher.lines == [QUEUE]
    assert any_deployment(9).id in idle.event_publisher.refreshed
    assert list(idle.workflows.settled) == ["token"]


def test_who_unlocked_is_remembered_at_the_queue_and_at_the_deployment_that_locked(scenario):
    scenario.lock_by(any_deployment(9))
    scenario.unlock(by="reviewer")
    refused = scenario.unlock(by="maintainer")
    assert not refused.done
    assert "reviewer unlocked it on 2026-03-02" in refused.reason
    assert scenario.deployments.get(any_deployment(9).id).outcome.unlocked == Unlocking("reviewer", NOW)
    assert scenario.head.unlocked == Unlocking("reviewer", NOW)


def test_a_queue_without_a_lock_is_not_unlocked(scenario):
    before = scenario.head
    assert scenario.unlock().reason == "This queue is not locked."
    assert scenario.head == before
    assert scenario.audit.published == []


def test_a_lock_whose_deployment_is_not_kept_any_more_is_taken_away(scenario):
    scenario.change(lock=any_lock(deployment="expired"))
    assert scenario.unlock().done
    assert scenario.head.lock is None


def test_the_same_unlocking_again_repairs_and_audits_once(idle):
    idle.lock_by(any_deployment(9))
    idle.enqueue(any_deployment(2))
    idle.workflows.refusals = 1
    with pytest.raises(CloudUnavailable):
        idle.unlock()
    assert idle.unlock().done
    assert list(idle.workflows.settled) == ["token"]
    assert idle.audit.states == ["UNLOCKED"]


def test_an_unlocking_that_comes_again_leaves_a_newer_lock_alone(idle):
    idle.change(lock=any_lock())
    idle.unlock()
    newer = any_lock(at=LATER)
    idle.change(lock=newer)
    again = idle.unlock()
    assert again.done
    assert "locked again on 2026-03-02 12:00" in again.reason
    assert idle.head.lock == newer
    assert len(idle.audit.published) == 1


def test_an_unlock_that_was_asked_for_before_the_lock_was_put_there_takes_nothing_away(idle):
    newer = any_lock(at=LATER)
    idle.change(lock=newer)
    late = idle.unlock()
    assert not late.done
    assert "locked again on 2026-03-02 12:00" in late.reason
    assert idle.head.lock == newer
    assert idle.audit.published == []


def test_an_unlock_is_audited_before_it_has_an_effect(scenario):
    scenario.lock_by(any_deployment(9))
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.unlock()
    assert scenario.head.lock is not None
    scenario.audit.unavailable = False
    assert scenario.unlock().done
    (message,) = scenario.audit.published
    assert (message.state, message.body["initiating_user"], message.body["root"]) == ("UNLOCKED", "reviewer", "network")


def test_of_two_who_unlock_the_first_one_did_it_and_is_the_one_in_the_audit(scenario):
    scenario.lock_by(any_deployment(9))
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.unlock(by="reviewer")
    scenario.audit.unavailable = False
    second = scenario.unlock(by="maintainer")
    assert (second.done, second.reason) == (False, "reviewer is already unlocking this queue.")
    assert scenario.head.lock is None
    assert [message.body["initiating_user"] for message in scenario.audit.published] == ["reviewer"]


def test_a_lock_that_is_being_taken_away_does_not_come_back_after_a_rejected_deploy_by_hand(scenario):
    scenario.lock_by(any_deployment(9))
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.unlock()
    scenario.in_flight(manual())
    scenario.validate(manual())
    scenario.deployments.save(replace(scenario.deployments.get(manual().id), state=State.REVIEW_EXPIRED))
    scenario.record(manual())
    assert scenario.head.lock is None


def test_an_unknown_outcome_that_was_unlocked_before_it_is_published_again_publishes_no_lock(scenario):
    before = list(scenario.event_publisher.locks)
    publish_lock(scenario.ports, replace(scenario.head, lock=None))
    assert scenario.event_publisher.locks == before
