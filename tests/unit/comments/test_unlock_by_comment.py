"""What ``unlock`` in a comment does."""

from __future__ import annotations

import pytest

from tests.builders import any_pull_request, seen
from tests.unit.comments.events_scenario import BASE, HEAD, NUMBER, REPOSITORY, EventsScenario
from tidegate.ports import Change
from tidegate.roots.rules.root import queue_id


@pytest.fixture
def scenario():
    return EventsScenario()


@pytest.mark.parametrize("command", ["tidegate unlock", "tidegate unlock -p live/app"])
def test_queues_are_unlocked_by_name_or_by_what_the_pull_request_changes(scenario, command):
    queue, other = scenario.lock("live/app"), scenario.lock("live/db")
    scenario.comment(command)
    assert scenario.queues.read(queue)[0].lock is None
    assert scenario.queues.read(other)[0].lock is not None
    assert scenario.reply == f"> `{command}`\n\n- `live/app`: 🔓 writer unlocked the queue\\."
    assert scenario.deliveries.outcomes["delivery-1"] == "live/app: writer unlocked the queue."


def test_once_it_is_merged_it_unlocks_what_it_changed_and_no_other_queue(scenario):
    queue, other = scenario.lock("live/app"), scenario.lock("live/db")
    scenario.pull(is_open=False)
    scenario.forge.seen[NUMBER] = seen(any_pull_request(base_sha=BASE), is_open=False, merged=True)
    scenario.forge.changes |= {("main", HEAD): Change(HEAD, None), (BASE, HEAD): Change(BASE, None)}
    scenario.comment("tidegate unlock")
    assert [scenario.queues.read(each)[0].lock is None for each in (queue, other)] == [True, False]


def test_a_queue_that_is_not_locked_is_told(scenario):
    scenario.comment("tidegate unlock")
    assert "This queue is not locked" in scenario.reply


def test_who_may_not_write_unlocks_nothing(scenario):
    queue = scenario.lock("live/app")
    scenario.comment("tidegate unlock", by="visitor")
    assert "write access" in scenario.reply
    assert scenario.queues.read(queue)[0].lock is not None


def test_a_queue_that_does_not_exist_is_answered_with_the_one_that_was_meant(scenario):
    scenario.lock("live/app")
    scenario.comment("tidegate unlock -p live/app -p live/ap")
    assert "Did you mean `live/app`?" in scenario.reply
    assert scenario.queues.read(queue_id(REPOSITORY, "live/app"))[0].lock is not None


def test_before_there_are_roots_none_is_named(scenario):
    scenario.comment("tidegate unlock -p live/app")
    assert "This repository has no roots yet." in scenario.reply


def test_nothing_to_unlock_is_told(scenario):
    scenario.trees[HEAD] = scenario.trees[BASE]
    scenario.comment("tidegate unlock")
    assert "changes no root" in scenario.reply
