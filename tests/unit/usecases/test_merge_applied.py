"""A pull request is merged once all of it is applied, if that is configured; a refusal is told with what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.usecases.apply_world import FREE, ApplyWorld
from tests.unit.usecases.events_world import BASE, HEAD, NUMBER
from tidegate.deploys.rules.deployment import State
from tidegate.deploys.rules.temporary_layer import LayerState
from tidegate.rules.errors import AppLacksPermission, ForgeRefused, ForgeUnavailable

ID = f"acme/infra#{NUMBER}"


@pytest.fixture
def world():
    found = ApplyWorld()
    found.say(f"{FREE}merge_after_apply: squash\n")
    found.planned("live/app", "live/db")
    found.comment("tidegate apply -p live/app -p live/db")
    return found


def all_applied(world):
    world.end()
    world.end(root="live/db")


def test_it_is_merged_once_the_last_root_is_applied_and_not_before(world):
    world.end()
    world.merger.go_on(ID)
    assert world.forge.merges == []
    world.end(root="live/db")
    world.merger.go_on(ID)
    assert world.forge.merges == [(NUMBER, HEAD, "squash")]
    assert world.shown == [ID, ID]
    assert world.forge.comments == []


def test_it_is_merged_once(world):
    all_applied(world)
    world.merger.go_on(ID)
    world.forge.unmergeable = ForgeRefused(405, "Pull Request is not mergeable")
    world.merger.go_on(ID)
    assert len(world.forge.merges) == 1
    assert world.forge.comments == []


@pytest.mark.parametrize("state", [State.REJECTED, State.APPLY_FAILED, State.PLANNING])
def test_it_is_not_merged_while_something_is_not_applied(world, state):
    world.end()
    world.end(state, root="live/db")
    world.merger.go_on(ID)
    assert world.forge.merges == []


def test_without_being_asked_for_it_people_merge(world):
    for root in ("live/app", "live/db"):
        world.end(State.REJECTED, root)
    world.say(FREE)
    world.comment("tidegate apply -p live/app -p live/db")
    all_applied(world)
    world.merger.go_on(ID)
    assert (world.forge.merges, world.shown) == ([], [ID])


def test_what_a_newer_commit_changes_must_be_known_first(world):
    all_applied(world)
    record = world.record
    world.records.save(replace(record, spec=replace(record.spec, head_sha=BASE)))
    world.merger.go_on(ID)
    assert world.forge.merges == []


def test_a_newer_commit_is_not_merged_for_what_an_earlier_one_applied(world):
    world.end()
    newer = replace(world.record.spec, head_sha=BASE)
    unchanged = [replace(each, state=LayerState.NO_CHANGES) for each in world.layers.many(world.record.layers)]
    for layer in unchanged:
        world.layers.save(layer)
    world.records.save(replace(world.record, spec=newer, discovered=newer.revision))
    world.end(root="live/db")
    world.merger.go_on(ID)
    assert world.forge.merges == []


def test_nothing_is_done_for_what_is_closed_or_not_known(world):
    all_applied(world)
    world.records.save(replace(world.record, closed_at="2026-03-02T08:00:00.000000+00:00"))
    world.merger.go_on(ID)
    world.merger.go_on("acme/infra#99")
    assert (world.forge.merges, world.shown) == ([], [])


def test_a_refusal_is_told_once_with_the_forges_words_and_what_to_do(world):
    all_applied(world)
    world.forge.unmergeable = ForgeRefused(405, "At least 2 approving reviews are required")
    world.merger.go_on(ID)
    world.merger.go_on(ID)
    assert "could not be merged" in world.reply
    assert "At least 2 approving reviews are required" in world.reply
    assert "`tidegate apply` again" in world.reply
    assert "The merge deploys nothing again." in world.reply


def test_after_another_apply_it_is_tried_again(world):
    all_applied(world)
    world.forge.unmergeable = ForgeRefused(405, "it is a draft")
    world.merger.go_on(ID)
    world.forge.unmergeable = None
    world.comment("tidegate apply -p live/app")
    world.end(State.NO_CHANGES)
    world.merger.go_on(ID)
    assert world.forge.merges == [(NUMBER, HEAD, "squash")]


def test_a_permission_that_the_app_lacks_is_named(world):
    all_applied(world)
    world.forge.unmergeable = AppLacksPermission(422, ("contents: write",))
    world.merger.go_on(ID)
    assert "Give Tidegate's App `contents: write`" in world.reply


def test_a_forge_that_does_not_answer_is_asked_again(world):
    all_applied(world)
    world.forge.failures.append(ForgeUnavailable("502"))
    with pytest.raises(ForgeUnavailable):
        world.merger.go_on(ID)
    world.merger.go_on(ID)
    assert len(world.forge.merges) == 1


def test_a_conversation_that_is_locked_is_no_reason_to_try_for_ever(world):
    all_applied(world)
    world.forge.unmergeable = world.forge.silence = ForgeRefused(403, "locked")
    world.merger.go_on(ID)
    assert world.forge.comments == []
    assert world.record.merge_refused
