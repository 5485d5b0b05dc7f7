"""A pull request is merged once all of it is applied, if that is configured; a refusal is told with what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.instants import utc
from tests.unit.usecases.apply_world import FREE, ApplyWorld
from tests.unit.usecases.events_world import BASE, HEAD, NUMBER
from tidegate.deploys.rules.speculative_plan import LayerState
from tidegate.deploys.rules.state import State
from tidegate.pull_requests.merge_applied import merge_applied
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable

ID = f"acme/infra#{NUMBER}"


@pytest.fixture
def world():
    found = ApplyWorld()
    found.say(f"{FREE}merge_after_apply: squash\n")
    found.planned("live/app", "live/db")
    found.comment("tidegate apply -p live/app -p live/db")
    return found


def commented(world):
    """Let the pull request show its plans, in a comment that is brought up to date."""
    world.records.save(replace(world.record, commented=world.record.spec.revision))


def all_applied(world):
    world.end()
    world.end(root="live/db")


def test_it_is_merged_once_the_last_root_is_applied_and_not_before(world):
    commented(world)
    world.end()
    merge_applied(world.ports, ID)
    assert world.forge.merges == []
    assert "`live/db`: applying" in world.reply
    world.end(root="live/db")
    merge_applied(world.ports, ID)
    assert world.forge.merges == [(NUMBER, HEAD, "squash")]
    assert "Everything is applied" in world.reply


def test_it_is_merged_once(world):
    all_applied(world)
    merge_applied(world.ports, ID)
    world.forge.unmergeable = ForgeRefused(405, "Pull Request is not mergeable")
    merge_applied(world.ports, ID)
    assert len(world.forge.merges) == 1
    assert world.forge.comments == []


@pytest.mark.parametrize("state", [State.REJECTED, State.APPLY_FAILED, State.PLANNING])
def test_it_is_not_merged_while_something_is_not_applied(world, state):
    world.end()
    world.end(state, root="live/db")
    merge_applied(world.ports, ID)
    assert world.forge.merges == []


def test_without_being_asked_for_it_people_merge(world):
    for root in ("live/app", "live/db"):
        world.end(State.REJECTED, root)
    world.say(FREE)
    world.comment("tidegate apply -p live/app -p live/db")
    all_applied(world)
    commented(world)
    merge_applied(world.ports, ID)
    assert world.forge.merges == []
    assert "Everything is applied" in world.reply


def test_what_a_newer_commit_changes_must_be_known_first(world):
    all_applied(world)
    record = world.record
    world.records.save(replace(record, spec=replace(record.spec, head_sha=BASE)))
    merge_applied(world.ports, ID)
    assert world.forge.merges == []


def test_a_newer_commit_is_not_merged_for_what_an_earlier_one_applied(world):
    world.end()
    newer = replace(world.record.spec, head_sha=BASE)
    unchanged = [replace(each, state=LayerState.NO_CHANGES) for each in world.layers.many(world.record.layers)]
    for layer in unchanged:
        world.layers.save(layer)
    world.records.save(replace(world.record, spec=newer, discovered=newer.revision))
    world.end(root="live/db")
    merge_applied(world.ports, ID)
    assert world.forge.merges == []


def test_nothing_is_done_for_what_is_closed_or_not_known(world):
    all_applied(world)
    commented(world)
    world.records.save(replace(world.record, closed_at=utc("2026-03-02T08:00")))
    merge_applied(world.ports, ID)
    merge_applied(world.ports, "acme/infra#99")
    assert (world.forge.merges, world.forge.comments) == ([], [])


def test_a_refusal_is_told_once_with_the_forges_words_and_what_to_do(world):
    all_applied(world)
    world.forge.unmergeable = ForgeRefused(405, "At least 2 approving reviews are required")
    merge_applied(world.ports, ID)
    merge_applied(world.ports, ID)
    assert "the merge failed" in world.reply
    assert "At least 2 approving reviews are required" in world.reply
    assert "`tidegate apply` again" in world.reply
    assert "The merge deploys nothing again." in world.reply


def test_after_another_apply_it_is_tried_again(world):
    all_applied(world)
    world.forge.unmergeable = ForgeRefused(405, "it is a draft")
    merge_applied(world.ports, ID)
    world.forge.unmergeable = None
    world.comment("tidegate apply -p live/app")
    world.end(State.NO_CHANGES)
    merge_applied(world.ports, ID)
    assert world.forge.merges == [(NUMBER, HEAD, "squash")]


def test_a_permission_that_the_app_lacks_is_named(world):
    all_applied(world)
    world.forge.unmergeable = AppLacksPermission(422, ("contents: write",))
    merge_applied(world.ports, ID)
    assert "Grant the Tidegate App `contents: write`" in world.reply


def test_a_forge_that_does_not_answer_is_asked_again(world):
    all_applied(world)
    world.forge.failures.append(ForgeUnavailable("502"))
    with pytest.raises(ForgeUnavailable):
        merge_applied(world.ports, ID)
    merge_applied(world.ports, ID)
    assert len(world.forge.merges) == 1


def test_a_conversation_that_is_locked_is_no_reason_to_try_for_ever(world):
    all_applied(world)
    world.forge.unmergeable = world.forge.silence = ForgeRefused(403, "locked")
    merge_applied(world.ports, ID)
    assert world.forge.comments == []
    assert world.record.merge_refused
