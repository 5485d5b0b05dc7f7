"""What happens to what a pull request applied once it is closed: merged, or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_deployment, any_revision
from tests.unit.usecases.apply_world import QUEUE, ApplyWorld
from tests.unit.usecases.events_world import HEAD, NUMBER, REPOSITORY
from tidegate.deploys.rules.queue import head_after, waiting_for
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.close_applied import close_applied
from tidegate.pull_requests.receive_pull_request import follow_pull_request
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import ForgeRefused


@pytest.fixture
def world():
    found = ApplyWorld()
    found.comment("tidegate apply")
    return found


def test_a_merge_unlocks_the_queues_that_the_pull_request_locked(world):
    applied = world.end()
    close_applied(world.ports, world.record, merged=True)
    assert world.head().lock is None
    assert world.head().unlocked.by == "tidegate"
    assert world.deployments.get(applied.id).outcome.unlocked == world.head().unlocked
    assert world.forge.comments == []
    close_applied(world.ports, world.record, merged=True)
    assert world.audit.states == ["UNLOCKED"]


def test_locks_of_others_stay(world):
    world.end()
    lock = replace(world.head().lock, pull_request=99)
    world.queues.commit(world.head(), replace(world.head(), lock=lock))
    close_applied(world.ports, world.record, merged=True)
    assert world.head().lock == lock


def test_closed_unmerged_it_says_once_that_what_was_applied_stays_and_how_it_is_undone(world):
    world.end()
    close_applied(world.ports, world.record, merged=False)
    close_applied(world.ports, world.record, merged=False)
    assert "Closed without a merge, and what it applied stays" in world.reply
    assert f"- `live/app`, from `{HEAD[:7]}`" in world.reply
    assert "`tidegate unlock -p live/app`" in world.reply
    assert "merge a change that touches these roots" in world.reply
    assert world.head().lock is not None


def test_what_may_have_been_applied_in_part_is_told_as_well(world):
    world.end(State.APPLY_FAILED)
    close_applied(world.ports, world.record, merged=False)
    assert "`live/app`" in world.reply


@pytest.mark.parametrize(("state", "told"), [(State.APPLIED, True), (State.REJECTED, False)])
def test_what_has_ended_a_moment_ago_is_told_before_its_queue_knows(world, state, told):
    _, first = world.queues.read(QUEUE)
    applied = replace(world.deployments.get(first.deployment), state=state)
    in_flight = replace(world.head(), in_flight=applied.id)
    world.queues.commit(world.head(), in_flight, take=waiting_for(applied), deployment=applied)
    close_applied(world.ports, world.record, merged=False)
    assert [f"- `live/app`, from `{HEAD[:7]}`" in str(comment) for comment in world.forge.comments] == [True] * told


@pytest.mark.parametrize("state", [State.REJECTED, State.PLAN_FAILED])
def test_what_applied_nothing_is_not_told(world, state):
    world.end(state)
    close_applied(world.ports, world.record, merged=False)
    assert world.forge.comments == []


def test_what_was_deployed_otherwise_since_is_not_told(world):
    world.end()
    newer = any_deployment(9, root=Root("live/app", "live/app"), revision=any_revision(9), state=State.APPLIED)
    world.queues.commit(world.head(), head_after(world.head(), newer))
    close_applied(world.ports, world.record, merged=False)
    assert world.forge.comments == []


def test_a_conversation_that_is_locked_is_no_reason_to_fail(world):
    world.end()
    world.forge.silence = ForgeRefused(403, "locked")
    close_applied(world.ports, world.record, merged=False)
    assert world.forge.comments == []
    assert world.head(QUEUE).lock is not None


def closed(world, *, merged):
    """Let whoever follows pull requests hear that this one is closed."""
    world.forge.seen[NUMBER] = replace(world.forge.seen[NUMBER], is_open=False, merged=merged)
    return follow_pull_request(world.ports, REPOSITORY, NUMBER)


def test_whoever_follows_pull_requests_ends_what_an_apply_left_as_often_as_it_hears_of_a_merge(world):
    world.end()
    lock = world.head().lock
    assert "Its speculative plans were removed." in closed(world, merged=True)
    assert world.head().lock is None
    world.queues.commit(world.head(), replace(world.head(), lock=lock))
    assert "Its speculative plans were removed." not in closed(world, merged=True)
    assert (world.head().lock, world.forge.comments) == (None, [])


def test_whoever_follows_pull_requests_ends_what_an_apply_left_as_often_as_it_hears_of_the_end(world):
    world.end()
    assert "Its speculative plans were removed." in closed(world, merged=False)
    assert "what it applied stays" in world.reply
    world.forge.comments.clear()
    assert "Its speculative plans were removed." not in closed(world, merged=False)
    assert "what it applied stays" in world.reply
    assert world.head().lock is not None


@pytest.mark.parametrize("merged", [True, False])
def test_what_was_never_applied_leaves_nothing_to_be_ended(world, merged):
    world.end()
    lock = world.head().lock
    world.records.save(replace(world.record, applies=()))
    closed(world, merged=merged)
    assert (world.head().lock, world.forge.comments) == (lock, [])
