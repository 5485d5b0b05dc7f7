from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, REPOSITORY, sha
from tidegate.ports import KnownRepository
from tidegate.pushes.missed_push import HEAD
from tidegate.reconciler.catch_up_heads import ASKED, CatchUpHeads
from tidegate.reconciler.resend_deliveries import ResendDeliveries
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable

KNOWN = KnownRepository(REPOSITORY, installation=7, default_branch="main", seen=sha(1), seen_at=NOW)


@pytest.fixture
def repair(world):
    return CatchUpHeads(world.catalog, world.forge, world.deliveries)


@pytest.fixture
def resend(world):
    return ResendDeliveries(world.deliveries, world.events)


def test_a_push_that_no_webhook_told_of_is_received_after_a_minute(world, repair, resend):
    world.catalog.remember(KNOWN)
    world.forge.branches["main"] = sha(2)
    assert world.take_turn(repair) == 1
    assert world.take_turn(resend) == 0
    world.clock.advance(61)
    assert world.take_turn(resend) == 1
    [sent] = world.events.sent
    assert sent.event == HEAD
    assert sent.fields == {
        "repository": REPOSITORY,
        "before": sha(1),
        "after": sha(2),
        "branch": "main",
        "installation": 7,
    }


def test_the_same_head_is_received_once(world, repair, resend):
    world.catalog.remember(KNOWN)
    world.forge.branches["main"] = sha(2)
    for _ in range(3):
        world.take_turn(repair)
        world.clock.advance(300)
        world.take_turn(resend)
    assert len(world.events.sent) == 1


def test_a_head_that_comes_back_later_is_received_again(world, repair):
    world.forge.branches["main"] = sha(2)
    world.catalog.remember(KNOWN)
    world.take_turn(repair)
    world.catalog.remember(replace(KNOWN, seen_at=world.clock.now()))
    assert world.take_turn(repair) == 1


def test_a_head_that_was_received_needs_nothing(world, repair):
    world.catalog.remember(KNOWN)
    world.forge.branches["main"] = KNOWN.seen
    assert world.take_turn(repair) == 0


def test_a_repository_of_which_no_push_was_received_is_not_asked_about(world, repair):
    world.catalog.remember(replace(KNOWN, seen=""))
    world.forge.branches["main"] = sha(2)
    assert world.take_turn(repair) == 0


def test_a_branch_that_is_gone_and_an_app_that_was_uninstalled_are_no_failures(world, repair):
    world.catalog.remember(KNOWN)
    assert world.take_turn(repair) == 0
    world.forge.failures.append(ForgeRefused(404, "Not Found"))
    assert world.take_turn(repair) == 0
    assert world.failures == []


def test_a_forge_that_does_not_answer_for_one_repository_keeps_no_other_from_it(world, repair):
    world.catalog.remember(KNOWN)
    world.catalog.remember(replace(KNOWN, name="acme/other"))
    world.forge.branches["main"] = sha(2)
    world.forge.failures.append(ForgeUnavailable("502"))
    assert world.take_turn(repair) == 1
    assert [type(failure) for failure in world.failures] == [ForgeUnavailable]


def test_one_run_asks_about_so_many_repositories_and_the_next_ones_about_the_others(world, repair):
    for number in range(2 * ASKED):
        world.catalog.remember(replace(KNOWN, name=f"acme/infra-{number:03}"))
    world.forge.branches["main"] = sha(2)
    assert world.take_turn(repair) == ASKED
    for _ in range(20):
        world.clock.advance(300)
        world.take_turn(repair)
    world.clock.advance(300)
    assert len({each.id for each in world.deliveries.unqueued(world.clock.now())}) == 2 * ASKED
