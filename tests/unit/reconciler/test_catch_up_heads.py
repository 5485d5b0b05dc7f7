from __future__ import annotations

from dataclasses import replace

from tests.builders import NOW, REPOSITORY, sha
from tidegate.ports import KnownRepository
from tidegate.pushes.missed_push import HEAD
from tidegate.reconciler.catch_up_heads import ASKED, catch_up_heads
from tidegate.reconciler.resend_deliveries import resend_deliveries
from tidegate.rules.errors import ForgeRefused, ForgeUnavailable

KNOWN = KnownRepository(REPOSITORY, default_branch="main", seen=sha(1), seen_at=NOW)


def test_a_push_that_no_webhook_told_of_is_received_after_a_minute(scenario):
    scenario.repository_index.remember(KNOWN)
    scenario.forge.branches["main"] = sha(2)
    assert scenario.take_turn(catch_up_heads) == 1
    assert scenario.take_turn(resend_deliveries) == 0
    scenario.clock.advance(61)
    assert scenario.take_turn(resend_deliveries) == 1
    [sent] = scenario.events.sent
    assert sent.event == HEAD
    assert sent.fields == {
        "repository": REPOSITORY,
        "before": sha(1),
        "after": sha(2),
        "branch": "main",
    }


def test_the_same_head_is_received_once(scenario):
    scenario.repository_index.remember(KNOWN)
    scenario.forge.branches["main"] = sha(2)
    for _ in range(3):
        scenario.take_turn(catch_up_heads)
        scenario.clock.advance(300)
        scenario.take_turn(resend_deliveries)
    assert len(scenario.events.sent) == 1


def test_a_head_that_comes_back_later_is_received_again(scenario):
    scenario.forge.branches["main"] = sha(2)
    scenario.repository_index.remember(KNOWN)
    scenario.take_turn(catch_up_heads)
    scenario.repository_index.remember(replace(KNOWN, seen_at=scenario.clock.now()))
    assert scenario.take_turn(catch_up_heads) == 1


def test_a_head_that_was_received_needs_nothing(scenario):
    scenario.repository_index.remember(KNOWN)
    scenario.forge.branches["main"] = KNOWN.seen
    assert scenario.take_turn(catch_up_heads) == 0


def test_a_repository_of_which_no_push_was_received_is_not_asked_about(scenario):
    scenario.repository_index.remember(replace(KNOWN, seen=""))
    scenario.forge.branches["main"] = sha(2)
    assert scenario.take_turn(catch_up_heads) == 0


def test_a_branch_that_is_gone_and_an_app_that_was_uninstalled_are_no_failures(scenario):
    scenario.repository_index.remember(KNOWN)
    assert scenario.take_turn(catch_up_heads) == 0
    scenario.forge.failures.append(ForgeRefused(404, "Not Found"))
    assert scenario.take_turn(catch_up_heads) == 0
    assert scenario.failures == []


def test_a_forge_that_does_not_answer_for_one_repository_keeps_no_other_from_it(scenario):
    scenario.repository_index.remember(KNOWN)
    scenario.repository_index.remember(replace(KNOWN, name="acme/other"))
    scenario.forge.branches["main"] = sha(2)
    scenario.forge.failures.append(ForgeUnavailable("502"))
    assert scenario.take_turn(catch_up_heads) == 1
    assert [type(failure) for failure in scenario.failures] == [ForgeUnavailable]


def test_one_run_asks_about_so_many_repositories_and_the_next_ones_about_the_others(scenario):
    for number in range(2 * ASKED):
        scenario.repository_index.remember(replace(KNOWN, name=f"acme/infra-{number:03}"))
    scenario.forge.branches["main"] = sha(2)
    assert scenario.take_turn(catch_up_heads) == ASKED
    for _ in range(20):
        scenario.clock.advance(300)
        scenario.take_turn(catch_up_heads)
    scenario.clock.advance(300)
    assert len({each.id for each in scenario.deliveries.unqueued(scenario.clock.now())}) == 2 * ASKED
