"""What ``unlock`` in a comment does."""

from __future__ import annotations

import pytest

from tests.builders import any_pull_request, seen
from tests.unit.usecases.events_world import BASE, HEAD, NUMBER, REPOSITORY, EventsWorld
from tidegate.ports import Change
from tidegate.roots.rules.root import queue_id


@pytest.fixture
def world():
    return EventsWorld()


@pytest.mark.parametrize("command", ["tidegate unlock", "tidegate unlock -p live/app"])
def test_queues_are_unlocked_by_name_or_by_what_the_pull_request_changes(world, command):
    queue, other = world.lock("live/app"), world.lock("live/db")
    world.comment(command)
    assert world.queues.read(queue)[0].lock is None
    assert world.queues.read(other)[0].lock is not None
    assert world.reply == f"> `{command}`\n\n- `live/app`: 🔓 writer unlocked the queue\\."
    assert world.deliveries.outcomes["delivery-1"] == "live/app: writer unlocked the queue."


def test_once_it_is_merged_it_unlocks_what_it_changed_and_no_other_queue(world):
    queue, other = world.lock("live/app"), world.lock("live/db")
    world.pull(is_open=False)
    world.forge.seen[NUMBER] = seen(any_pull_request(base_sha=BASE), is_open=False, merged=True)
    world.forge.changes |= {("main", HEAD): Change(HEAD, None), (BASE, HEAD): Change(BASE, None)}
    world.comment("tidegate unlock")
    assert [world.queues.read(each)[0].lock is None for each in (queue, other)] == [True, False]


def test_a_queue_that_is_not_locked_is_told(world):
    world.comment("tidegate unlock")
    assert "This queue is not locked" in world.reply


def test_who_may_not_write_unlocks_nothing(world):
    queue = world.lock("live/app")
    world.comment("tidegate unlock", by="visitor")
    assert "write access" in world.reply
    assert world.queues.read(queue)[0].lock is not None


def test_a_queue_that_does_not_exist_is_answered_with_the_one_that_was_meant(world):
    world.lock("live/app")
    world.comment("tidegate unlock -p live/app -p live/ap")
    assert "Did you mean `live/app`?" in world.reply
    assert world.queues.read(queue_id(REPOSITORY, "live/app"))[0].lock is not None


def test_before_there_are_roots_none_is_named(world):
    world.comment("tidegate unlock -p live/app")
    assert "This repository has no roots yet." in world.reply


def test_nothing_to_unlock_is_told(world):
    world.trees[HEAD] = world.trees[BASE]
    world.comment("tidegate unlock")
    assert "changes no root" in world.reply
