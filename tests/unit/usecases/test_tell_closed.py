"""A pull request that ends: its comments say so, in place, and what people did to them is left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.usecases.pull_request_world import NUMBER, PAGE, PullRequestWorld
from tidegate.pull_requests.notify_closed import notify_closed
from tidegate.pull_requests.rules.comment import MERGED, marker
from tidegate.pull_requests.rules.record import Applying
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable

PLANS = f"{marker('dev')}\n## Tidegate\n\nPlans."
TEXT = f"{PLANS}\n\n### What happens on merge\n\n* It is deployed.\n\n### What to do now\n\n* Merge."


@pytest.fixture
def world():
    world = PullRequestWorld()
    world.receive()
    world.forge.comments.append((NUMBER, TEXT))
    record = world.record
    world.records.save(replace(record, comments=(("dev", 1),)))
    return world


def ends(world, *, merged):
    world.pull(is_open=False, merged=merged)
    world.receive(action="closed")


def test_a_merge_is_told_in_place_of_the_next_steps(world):
    ends(world, merged=True)
    ((_, text),) = world.forge.comments
    assert text == f"{PLANS}\n\n{MERGED}\n\n[This page]({PAGE}) shows its deployments."


def test_what_is_closed_is_told_once(world):
    for _ in range(3):
        ends(world, merged=False)
    ((_, text),) = world.forge.comments
    assert "### Closed" in text
    assert world.forge.edits == [1]


def test_the_end_of_a_merge_that_deploys_is_left_to_who_shows_that_so_that_nobody_overwrites_it(world):
    ends(world, merged=True)
    world.forge.edits.clear()
    world.forge.comments[0] = (NUMBER, TEXT)
    deploys = (Applying("app", "dev", ""),)
    notify_closed(world.ports, replace(world.record, merge_sha="e" * 40, deploys=deploys), merged=True)
    assert (world.event_publisher.deployed, world.forge.edits) == ([world.record.spec.id], [])


def test_comments_of_others_stay_as_they_are(world):
    world.forge.comments.append((NUMBER, TEXT))
    ends(world, merged=True)
    assert world.forge.comments[1] == (NUMBER, TEXT)


def test_a_locked_conversation_is_no_failure(world):
    world.forge.failures = [ForgeRefused(403, "The conversation is locked.")]
    notify_closed(world.ports, world.record, merged=True)
    assert world.forge.edits == []


def test_a_deleted_comment_is_no_failure(world):
    world.forge.deleted.add(1)
    ends(world, merged=True)
    assert (world.record.merged, world.forge.edits) == (True, [])


def test_while_the_forge_does_not_answer_it_is_put_off(world):
    world.forge.failures = [ForgeUnavailable("GitHub", "down")]
    with pytest.raises(ForgeUnavailable):
        notify_closed(world.ports, world.record, merged=True)
    ends(world, merged=True)
    assert "### Merged" in world.forge.comments[0][1]


def test_without_comments_the_forge_is_not_asked(world):
    world.records.save(replace(world.record, comments=()))
    ends(world, merged=True)
    assert world.forge.edits == []
