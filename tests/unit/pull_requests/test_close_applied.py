"""What happens to what a pull request applied once it is closed: merged, or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import any_deployment, any_revision
from tests.unit.comments.apply_scenario import QUEUE, ApplyScenario
from tests.unit.comments.events_scenario import HEAD, NUMBER, REPOSITORY
from tidegate.deploys.rules.queue import head_after, waiting_for
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.close_applied import close_applied
from tidegate.pull_requests.receive_pull_request import follow_pull_request
from tidegate.roots.rules.root import Root
from tidegate.rules.errors import ForgeRefused


@pytest.fixture
def scenario():
    found = ApplyScenario()
    found.comment("tidegate apply")
    return found


def test_a_merge_unlocks_the_queues_that_the_pull_request_locked(scenario):
    applied = scenario.end()
    close_applied(scenario.ports, scenario.record, merged=True)
    assert scenario.head().lock is None
    assert scenario.head().unlocked.by == "tidegate"
    assert scenario.deployments.get(applied.id).outcome.unlocked == scenario.head().unlocked
    assert scenario.forge.comments == []
    close_applied(scenario.ports, scenario.record, merged=True)
    assert scenario.audit.states == ["UNLOCKED"]


def test_locks_of_others_stay(scenario):
    scenario.end()
    lock = replace(scenario.head().lock, pull_request=99)
    scenario.queues.commit(scenario.head(), replace(scenario.head(), lock=lock))
    close_applied(scenario.ports, scenario.record, merged=True)
    assert scenario.head().lock == lock


def test_closed_unmerged_it_says_once_that_what_was_applied_stays_and_how_it_is_undone(scenario):
    scenario.end()
    close_applied(scenario.ports, scenario.record, merged=False)
    close_applied(scenario.ports, scenario.record, merged=False)
    assert "Closed without a merge, and what it applied stays" in scenario.reply
    assert f"- `live/app`, from `{HEAD[:7]}`" in scenario.reply
    assert "`tidegate unlock -p live/app`" in scenario.reply
    assert "merge a change that touches these roots" in scenario.reply
    assert scenario.head().lock is not None


def test_what_may_have_been_applied_in_part_is_told_as_well(scenario):
    scenario.end(State.APPLY_FAILED)
    close_applied(scenario.ports, scenario.record, merged=False)
    assert "`live/app`" in scenario.reply


@pytest.mark.parametrize(("state", "told"), [(State.APPLIED, True), (State.REJECTED, False)])
def test_what_has_ended_a_moment_ago_is_told_before_its_queue_knows(scenario, state, told):
    _, first = scenario.queues.read(QUEUE)
    applied = replace(scenario.deployments.get(first.deployment), state=state)
    in_flight = replace(scenario.head(), in_flight=applied.id)
    scenario.queues.commit(scenario.head(), in_flight, take=waiting_for(applied), deployment=applied)
    close_applied(scenario.ports, scenario.record, merged=False)
    assert [f"- `live/app`, from `{HEAD[:7]}`" in str(comment) for comment in scenario.forge.comments] == [True] * told


@pytest.mark.parametrize("state", [State.REJECTED, State.PLAN_FAILED])
def test_what_applied_nothing_is_not_told(scenario, state):
    scenario.end(state)
    close_applied(scenario.ports, scenario.record, merged=False)
    assert scenario.forge.comments == []


def test_what_was_deployed_otherwise_since_is_not_told(scenario):
    scenario.end()
    newer = any_deployment(9, root=Root("live/app", "live/app"), revision=any_revision(9), state=State.APPLIED)
    scenario.queues.commit(scenario.head(), head_after(scenario.head(), newer))
    close_applied(scenario.ports, scenario.record, merged=False)
    assert scenario.forge.comments == []


def test_a_conversation_that_is_locked_is_no_reason_to_fail(scenario):
    scenario.end()
    scenario.forge.silence = ForgeRefused(403, "locked")
    close_applied(scenario.ports, scenario.record, merged=False)
    assert scenario.forge.comments == []
    assert scenario.head(QUEUE).lock is not None


def closed(scenario, *, merged):
    """Let whoever follows pull requests hear that this one is closed."""
    scenario.forge.seen[NUMBER] = replace(scenario.forge.seen[NUMBER], is_open=False, merged=merged)
    return follow_pull_request(scenario.ports, REPOSITORY, NUMBER)


def test_whoever_follows_pull_requests_ends_what_an_apply_left_as_often_as_it_hears_of_a_merge(scenario):
    scenario.end()
    lock = scenario.head().lock
    assert "Its speculative plans were removed." in closed(scenario, merged=True)
    assert scenario.head().lock is None
    scenario.queues.commit(scenario.head(), replace(scenario.head(), lock=lock))
    assert "Its speculative plans were removed." not in closed(scenario, merged=True)
    assert (scenario.head().lock, scenario.forge.comments) == (None, [])


def test_whoever_follows_pull_requests_ends_what_an_apply_left_as_often_as_it_hears_of_the_end(scenario):
    scenario.end()
    assert "Its speculative plans were removed." in closed(scenario, merged=False)
    assert "what it applied stays" in scenario.reply
    scenario.forge.comments.clear()
    assert "Its speculative plans were removed." not in closed(scenario, merged=False)
    assert "what it applied stays" in scenario.reply
    assert scenario.head().lock is not None


@pytest.mark.parametrize("merged", [True, False])
def test_what_was_never_applied_leaves_nothing_to_be_ended(scenario, merged):
    scenario.end()
    lock = scenario.head().lock
    scenario.records.save(replace(scenario.record, applies=()))
    closed(scenario, merged=merged)
    assert (scenario.head().lock, scenario.forge.comments) == (lock, [])
