"""What ``lock`` in a comment does, and how a queue is locked by hand at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import any_deployment
from tests.unit.usecases.events_world import AT, HEAD, REPOSITORY, EventsWorld
from tidegate.deploys.rules.queue import Deployed, Waiting, may_take
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.roots.rules.root import queue_id
from tidegate.rules.access import Access
from tidegate.rules.errors import CloudUnavailable

QUEUE = queue_id(REPOSITORY, "live/app")
LATER, LAST = AT + timedelta(hours=1), AT + timedelta(hours=2)


@pytest.fixture
def world():
    world = EventsWorld()
    head, _ = world.queues.read(QUEUE)
    world.queues.commit(head, head)  # Something was deployed once.
    return world


def head(world):
    return world.queues.read(QUEUE)[0]


@pytest.mark.parametrize("roots", ["", "-p live/app "])
def test_a_queue_is_locked_by_name_or_by_what_the_pull_request_changes(world, roots):
    world.comment(f"tidegate lock {roots}--reason don't  merge")
    lock = head(world).lock
    assert (lock.by, lock.at, lock.reason, lock.deployment) == ("writer", AT, "don't merge", "")
    merge, by_hand = (Waiting("id", trigger, "sha", AT) for trigger in (Trigger.MERGE, Trigger.MANUAL))
    assert (may_take(merge, lock), may_take(by_hand, lock)) == (False, True)
    assert "🔒 writer locked the queue" in world.reply
    assert world.event_publisher.lines == [QUEUE]


def test_a_lock_without_a_reason_says_that_it_was_put_there_by_hand(world):
    world.comment("tidegate lock")
    assert "manually" in head(world).lock.reason


def test_the_audit_topic_hears_of_a_lock_before_it_is_there(world):
    world.audit.unavailable = True
    with pytest.raises(CloudUnavailable):
        world.comment("tidegate lock", delivery="one")
    assert head(world).lock is None
    world.audit.unavailable = False
    world.comment("tidegate lock", delivery="one")
    (message,) = world.audit.published
    assert (message.state, message.body["initiating_user"], message.body["root"]) == ("LOCKED", "writer", "live/app")
    assert (message.body["deployment"], message.body["revision"]) == (None, None)


def test_a_lock_that_is_there_stays(world):
    world.lock("live/app")
    world.comment("tidegate lock --reason mine")
    assert head(world).lock.by == "somebody"
    assert "was locked on 2026\\-03\\-02 08:00 UTC by somebody: reason" in world.reply
    assert world.audit.published == []


def test_a_comment_that_comes_again_locks_once_and_not_after_an_unlocking(world):
    world.comment("tidegate lock")
    world.deliveries.outcomes.clear()
    world.comment("tidegate lock", delivery="delivery-1")
    assert world.audit.states == ["LOCKED"]
    world.comment("tidegate unlock", at=LATER)
    world.deliveries.outcomes.clear()
    world.comment("tidegate lock", delivery="delivery-1")
    assert head(world).lock is None
    assert "after you asked to lock it" in world.deliveries.outcomes["delivery-1"]
    world.comment("tidegate lock", at=LAST)
    assert head(world).lock is not None


def test_a_root_without_a_queue_is_told(world):
    world.trees[HEAD] = {**world.trees[HEAD], "live/db/main.tf": "# new"}
    world.comment("tidegate lock")
    assert "was never deployed" in world.reply


def test_who_may_not_write_locks_nothing(world):
    world.comment("tidegate lock", by="visitor")
    assert "Nothing was locked" in world.reply
    assert head(world).lock is None


def test_who_locks_and_unlocks_by_hand_is_named_by_the_rule_of_what_was_let_in_last(world):
    last = any_deployment(access=Access(unlock=("user:maintainer",)))
    world.deployments.add(last)
    attempted = Deployed(last.id, last.revision, State.APPLIED, last.request.trigger)
    world.queues.commit(head(world), replace(head(world), attempted=attempted))
    world.comment("tidegate lock")
    assert head(world).lock is None
    world.comment("tidegate lock", by="maintainer")
    world.comment("tidegate unlock", at=LATER)
    assert head(world).lock.by == "maintainer"
    world.comment("tidegate unlock", by="maintainer", at=LATER)
    assert head(world).lock is None
