"""What ``lock`` in a comment does, and how a queue is locked by hand at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployment
from tests.unit.comments.events_scenario import AT, HEAD, REPOSITORY, EventsScenario
from tidegate.deploys.rules.queue import Deployed, Waiting, may_take
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.roots.rules.root import queue_id
from tidegate.rules.access import Access
from tidegate.rules.errors import CloudUnavailable

QUEUE = queue_id(REPOSITORY, "live/app")
LATER, LAST = AT + timedelta(hours=1), AT + timedelta(hours=2)


@pytest.fixture
def scenario():
    scenario = EventsScenario()
    head, _ = scenario.queues.read(QUEUE)
    scenario.queues.commit(head, head)  # Something was deployed once.
    return scenario


def head(scenario):
    return scenario.queues.read(QUEUE)[0]


@pytest.mark.parametrize("roots", ["", "-p live/app "])
def test_a_queue_is_locked_by_name_or_by_what_the_pull_request_changes(scenario, roots):
    scenario.comment(f"tidegate lock {roots}--reason don't  merge")
    lock = head(scenario).lock
    assert (lock.by, lock.at, lock.reason, lock.deployment) == ("writer", AT, "don't merge", "")
    merge, by_hand = (Waiting("id", trigger, "sha", AT) for trigger in (Trigger.MERGE, Trigger.MANUAL))
    assert (may_take(merge, lock), may_take(by_hand, lock)) == (False, True)
    assert "🔒 writer locked the queue" in scenario.reply
    assert scenario.event_publisher.lines == [QUEUE]


def test_a_lock_without_a_reason_says_that_it_was_put_there_by_hand(scenario):
    scenario.comment("tidegate lock")
    assert "manually" in head(scenario).lock.reason


def test_the_audit_topic_hears_of_a_lock_before_it_is_there(scenario):
    scenario.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        scenario.comment("tidegate lock", delivery="one")
    assert head(scenario).lock is None
    scenario.audit.unavailable = False
    scenario.comment("tidegate lock", delivery="one")
    (message,) = scenario.audit.published
    assert (message.state, message.body["initiating_user"], message.body["root"]) == ("LOCKED", "writer", "live/app")
    assert (message.body["deployment"], message.body["revision"]) == (None, None)


def test_a_lock_that_is_there_stays(scenario):
    scenario.lock("live/app")
    scenario.comment("tidegate lock --reason mine")
    assert head(scenario).lock.by == "somebody"
    assert "was locked on 2026\\-03\\-02 08:00 UTC by somebody: reason" in scenario.reply
    assert scenario.audit.published == []


def test_a_comment_that_comes_again_locks_once_and_not_after_an_unlocking(scenario):
    scenario.comment("tidegate lock")
    scenario.deliveries.outcomes.clear()
    scenario.comment("tidegate lock", delivery="delivery-1")
    assert scenario.audit.states == ["LOCKED"]
    scenario.comment("tidegate unlock", at=LATER)
    scenario.deliveries.outcomes.clear()
    scenario.comment("tidegate lock", delivery="delivery-1")
    assert head(scenario).lock is None
    assert "after you asked to lock it" in scenario.deliveries.outcomes["delivery-1"]
    scenario.comment("tidegate lock", at=LAST)
    assert head(scenario).lock is not None


def test_a_root_without_a_queue_is_told(scenario):
    scenario.trees[HEAD] = {**scenario.trees[HEAD], "live/db/main.tf": "# new"}
    scenario.comment("tidegate lock")
    assert "was never deployed" in scenario.reply


def test_who_may_not_write_locks_nothing(scenario):
    scenario.comment("tidegate lock", by="visitor")
    assert "Nothing was locked" in scenario.reply
    assert head(scenario).lock is None


def test_who_locks_and_unlocks_by_hand_is_named_by_the_rule_of_what_was_let_in_last(scenario):
    last = any_deployment(access=Access(unlock=("user:maintainer",)))
    scenario.deployments.add(last)
    attempted = Deployed(last.id, last.revision, State.APPLIED, last.request.trigger)
    scenario.queues.commit(head(scenario), replace(head(scenario), attempted=attempted))
    scenario.comment("tidegate lock")
    assert head(scenario).lock is None
    scenario.comment("tidegate lock", by="maintainer")
    scenario.comment("tidegate unlock", at=LATER)
    assert head(scenario).lock.by == "maintainer"
    scenario.comment("tidegate unlock", by="maintainer", at=LATER)
    assert head(scenario).lock is None
