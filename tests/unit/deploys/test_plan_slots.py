"""Places for plans: so many at a time, first come, first served."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import any_layer
from tidegate.deploys.rules.plan_slots import (
    FAIR_PASS,
    Precedence,
    SlotUsage,
    asked,
    handed_over,
    in_order,
    joined,
    left,
    next_pass,
    taken,
)
from tidegate.deploys.texts.plan_slots import waiting_plans
from tidegate.vcs.rules.forge_terms import GITHUB_TERMS


def places(held=(), line=(), version=0):
    return SlotUsage("acme/infra", tuple(held), tuple(line), version)


@pytest.mark.parametrize(
    ("before", "may_plan", "reason"),
    [
        (places(), True, "A concurrency slot is free: 0 of 2 are in use."),
        (places("b"), True, "A concurrency slot is free: 1 of 2 are in use."),
        (places("bc"), False, "All concurrency slots are in use: 2 of 2."),
        (places("bcd"), False, "All concurrency slots are in use: 3 of 2."),
        (places("b", "c"), False, "Other plans already wait for a concurrency slot: 1."),
        (places("ab", "c"), True, "It already has a concurrency slot."),
    ],
)
def test_who_asks_is_told_whether_it_may_plan_and_why(before, may_plan, reason):
    answer = asked(before, "a", 2)
    assert (answer.may_plan, answer.reason) == (may_plan, reason)
    assert ("a" in taken(before, "a", 2).held) is may_plan


def test_taking_again_keeps_the_place_and_is_seen_by_who_would_give_it_back():
    once = taken(places(), "a", 2)
    assert taken(once, "a", 2) == replace(once, version=once.version + 1)


@pytest.mark.parametrize(
    ("now", "layer", "reason"),
    [
        (places("b"), None, "No plan is waiting."),
        (places("bc", "a"), None, "All concurrency slots are in use: 2 of 2."),
        (places("b", "ac"), "a", "It is next, and a concurrency slot is free."),
    ],
)
def test_it_is_the_turn_of_who_has_waited_longest(now, layer, reason):
    turn = next_pass(now, 2)
    assert (turn.layer, turn.reason) == (layer, reason)


def test_a_line_is_joined_at_its_end_and_once():
    assert joined(places("b", "c", 1), "a") == places("b", "ca", 2)
    for again in (places("b", "ca", 2), places("a", "c", 2)):
        assert joined(again, "a") == again


def test_a_place_is_handed_to_nobody_whose_turn_it_is_not():
    before = places("b", "ac", 2)
    assert handed_over(before, "a", 2) == replace(places("ba", "c", 3), turns=1)
    assert handed_over(before, "c", 2) is None
    assert handed_over(before, "a", 1) is None


RANKS = st.sampled_from(Precedence)


def mixed(ranks, turns=0):
    """Return a line in which each has a precedence."""
    now = replace(places(), turns=turns)
    for number, rank in enumerate(ranks):
        now = joined(now, f"{number}", rank)
    return now


def test_applies_go_before_plans_and_these_before_pull_requests():
    ranks = [Precedence.SPECULATION, Precedence.PLAN, Precedence.APPLY, Precedence.PLAN, Precedence.APPLY]
    assert list(in_order(mixed(ranks)))[:3] == ["2", "4", "1"]


def test_each_fourth_place_goes_to_who_has_waited_longest():
    ranks = [Precedence.SPECULATION, *[Precedence.APPLY] * 6]
    assert list(in_order(mixed(ranks))) == ["1", "2", "3", "0", "4", "5", "6"]
    assert next(in_order(mixed(ranks, turns=3))) == "0"


@given(st.lists(RANKS, max_size=20), st.integers(0, 9))
def test_the_order_that_is_told_is_the_order_in_which_places_are_given(ranks, turns):
    now, told, got = mixed(ranks, turns), [*in_order(mixed(ranks, turns))], []
    while turn := next_pass(now, len(got) + 1).layer:
        got.append(turn)
        now = handed_over(now, turn, len(got))
    assert got == told
    assert sorted(got) == sorted(mixed(ranks).line)
    assert not now.ranks


@given(st.lists(RANKS, min_size=1, max_size=8), st.integers(0, 9), st.lists(st.lists(RANKS, max_size=3), max_size=40))
def test_nobody_starves_whoever_comes_later(ranks, turns, newcomers):
    """Others come between all turns: whoever has so many before it has its place after four times as many turns."""
    now, limit, names = mixed(ranks, turns), 2, itertools.count(1000)
    first = now.line
    for number, coming in enumerate(newcomers, 1):
        for rank in coming:
            now = joined(now, f"{next(names)}", rank)
        turn = next_pass(now, limit).layer
        now = handed_over(now, turn, limit) if turn else now
        assert len(now.held) <= limit
        now = left(now, now.held[:1])
        late = [each for at, each in enumerate(first) if FAIR_PASS * (at + 1) <= number and each in now.line]
        assert late == []


def test_who_leaves_has_no_place_and_waits_for_none():
    assert left(places("ab", "cd", 4), ["a", "c", "gone"]) == places("b", "d", 5)
    assert left(places("ab", "cd", 4), ["a"]) == places("b", "cd", 4)


def test_quiet_is_where_nobody_has_a_place_or_waits():
    assert [each.is_quiet for each in (places(), places("a"), places("", "a"))] == [True, False, False]


def holder(number, schedule=""):
    return any_layer(f"root-{number}", pull_request=number, schedule=schedule)


def test_who_waits_reads_how_many_go_before_and_whose_plans_are_under_way():
    told = waiting_plans(places("abcd", "efgh"), ["e", "g", "z"], [holder(12), holder(13), holder(12)], GITHUB_TERMS)
    assert told.reasons == {
        "e": "Waiting for a concurrency slot, next in the queue: "
        "4 plans of the repository are running, of #12 and #13.",
        "g": "Waiting for a concurrency slot, behind 2 others: 4 plans of the repository are running, of #12 and #13.",
    }
    under_way = "4 plans of the repository are running, of #12 and #13."
    assert str(told) == f"2 plans wait for a concurrency slot: {under_way}"


def test_a_schedule_that_looks_for_drift_is_named_and_of_very_many_only_some_are():
    told = waiting_plans(places("a", "b"), ["b"], [holder(0, "nightly")], GITHUB_TERMS)
    expected = "1 plan waits for a concurrency slot: 1 plan of the repository is running, of the schedule nightly."
    assert str(told) == expected
    many = waiting_plans(places("abcdefg", "h"), ["h"], [holder(number) for number in range(1, 8)], GITHUB_TERMS)
    assert many.behind.endswith("of #1, #2, #3, #4, #5 and 2 more")


def test_plans_whose_layers_are_gone_are_only_counted_and_where_nobody_waits_nothing_is_said():
    assert waiting_plans(places("a", "b"), ["b"], [], GITHUB_TERMS).behind == "1 plan of the repository is running"
    assert str(waiting_plans(places("a", "b"), ["c"], [], GITHUB_TERMS)) == ""
