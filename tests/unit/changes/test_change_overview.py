"""A change as people see it: stacks in tiers, the state of each, and who waits for whom."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import amended, any_plan, any_root, deployment_in
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.overview import awaited, by_stack, naming, needed, overview
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State


def member(stack, root="network", state=State.QUEUED, **waits):
    return amended(
        deployment_in(state, root=any_root(name=root)),
        id=f"{stack}-{root}",
        stack=stack,
        change_set="c-1",
        waits=Waits(**waits),
        plan=None if state in {State.QUEUED, State.PLANNING} else any_plan(),
    )


DEV = member("dev", state=State.APPLIED)
STAGING = member("staging", state=State.AWAITING_REVIEW, apply_after=("dev",))
PROD = member("prod", state=State.GATED, apply_after=("dev", "staging"))


def test_stacks_come_in_the_order_of_their_gates_and_name_those_right_before_them():
    dev, staging, prod = overview([PROD, STAGING, DEV])
    assert [(one.name, one.tier, one.state) for one in (dev, staging, prod)] == [
        ("dev", 1, State.APPLIED),
        ("staging", 2, State.AWAITING_REVIEW),
        ("prod", 3, State.GATED),
    ]
    assert (dev.apply_after, staging.apply_after, prod.apply_after) == ((), ("dev",), ("staging",))
    assert (dev.done, prod.done) == (1, 0)


def test_what_is_planned_after_another_stack_is_told_apart():
    _, app = overview([member("base"), member("app", plan_after=("base",))])
    assert (app.plan_after, app.apply_after) == (("base",), ())


def test_a_stack_that_waits_for_two_ways_names_the_ends_of_both():
    change = [
        member("a"),
        member("b", apply_after=("a",)),
        member("c", apply_after=("a",)),
        member("d", apply_after=("a", "b", "c")),
    ]
    assert overview(change)[-1].apply_after == ("b", "c")


def test_what_is_not_in_the_change_is_not_drawn():
    (prod,) = overview([PROD])
    assert (prod.tier, prod.apply_after) == (1, ())


@pytest.mark.parametrize(
    ("states", "least"),
    [
        ((State.APPLIED, State.NO_CHANGES), State.APPLIED),
        ((State.NO_CHANGES, State.NO_CHANGES), State.NO_CHANGES),
        ((State.APPLIED, State.APPLYING), State.APPLYING),
        ((State.APPLYING, State.AWAITING_REVIEW), State.AWAITING_REVIEW),
        ((State.AWAITING_REVIEW, State.APPLY_FAILED), State.APPLY_FAILED),
        ((State.APPLY_FAILED, State.PLANNING), State.APPLY_FAILED),
        ((State.PLANNING, State.PLAN_FAILED), State.PLAN_FAILED),
        ((State.GATED, State.AWAITING_REVIEW), State.AWAITING_REVIEW),
        ((State.REJECTED, State.BLOCKED), State.BLOCKED),
        ((State.QUEUED, State.BLOCKED), State.BLOCKED),
        ((State.QUEUED, State.GATED), State.GATED),
    ],
)
def test_a_stack_shows_the_state_that_needs_a_person_most(states, least):
    (stack,) = overview([member("dev", str(number), state) for number, state in enumerate(states)])
    assert stack.state is least


def test_what_needs_a_person_is_told_stack_by_stack():
    blocked, failed = member("prod", state=State.BLOCKED), member("dev", state=State.PLAN_FAILED)
    review = member("dev", "app", State.AWAITING_REVIEW)
    found = needed(overview([blocked, failed, review, member("dev", "db", State.APPLYING)]))
    assert (found.reviews, found.failed, found.blocked) == ((review,), (failed,), (blocked,))
    assert found.anything
    assert not needed(overview([DEV])).anything


@pytest.mark.parametrize("state", State)
def test_every_state_has_its_place(state):
    assert overview([member("dev", state=state)])[0].state is state


def test_members_stand_by_layer_and_root():
    change = [amended(member("dev", name), layer=layer) for name, layer in (("b", 2), ("c", 1), ("a", 2))]
    assert [one.root.name for one in overview(change)[0].members] == ["c", "a", "b"]


def test_a_deployment_waits_for_what_is_not_done_of_the_stacks_before_it():
    change = [DEV, STAGING, PROD]
    assert [(one.deployment.id, one.before_plan) for one in awaited(PROD, change)] == [("staging-network", False)]
    assert awaited(STAGING, change) == ()


def test_a_deployment_waits_with_its_plan_for_roots_of_its_own_stack_only():
    first, other = member("dev", "vpc"), member("prod", "vpc")
    app = member("dev", "app", roots=("vpc",))
    assert [(one.deployment, one.before_plan) for one in awaited(app, [first, other, app])] == [(first, True)]


def test_what_is_planned_waits_no_more_for_what_came_before_its_plan():
    base, late = member("base"), member("late")
    app = member("app", state=State.GATED, plan_after=("base",), apply_after=("late",))
    assert [one.deployment for one in awaited(app, [base, late, app])] == [late]
    assert [one.deployment for one in awaited(amended(app, plan=None), [base, late])] == [base, late]


def test_what_has_ended_waits_for_nothing():
    assert awaited(replace(PROD, state=State.REJECTED), [STAGING]) == ()


@given(st.dictionaries(st.sampled_from("abcdefg"), st.sets(st.sampled_from("abcdefg")), min_size=1))
def test_each_stack_stands_behind_all_that_it_waits_for_however_stacks_wait_for_each_other(firsts):
    """Waits go from a letter to earlier ones, as cycles are refused before; both ways may be stored, and do no harm."""
    acyclic = {name: {first for first in its if first < name} for name, its in firsts.items()}
    found = {one.name: one for one in overview([member(name, apply_after=tuple(its)) for name, its in acyclic.items()])}
    for name, its in acyclic.items():
        assert all(found[first].tier < found[name].tier for first in its & found.keys())
    assert len(overview([member(name, apply_after=tuple(its)) for name, its in firsts.items()])) == len(firsts)


def test_what_came_to_a_bad_end_stands_first_of_what_is_waited_for():
    states = {"a": State.QUEUED, "b": State.BLOCKED, "c": State.AWAITING_REVIEW, "d": State.REJECTED}
    others = [member("dev", name, state) for name, state in states.items()]
    found = awaited(member("prod", apply_after=("dev",)), others)
    assert [one.deployment.root.name for one in found] == ["d", "b", "c", "a"]


def test_what_is_waited_for_is_told_stack_by_stack():
    change = [member("dev", "a"), member("qa", "b", State.PLAN_FAILED), member("dev", "c")]
    found = by_stack(awaited(member("prod", apply_after=("dev", "qa")), change))
    assert {stack: [one.deployment.root.name for one in its] for stack, its in found.items()} == {
        "qa": ["b"],
        "dev": ["a", "c"],
    }


FIXED = amended(member("dev", state=State.PLAN_FAILED), contained_by="dev-newer")


def test_what_failed_needs_nobody_once_a_newer_revision_that_contains_it_is_deployed():
    stacks = overview([FIXED, STAGING])
    assert needed(stacks).failed == ()
    assert needed(overview([amended(FIXED, contained_by=None)])).failed != ()


@pytest.mark.parametrize(
    ("other", "state"),
    [(State.APPLIED, State.APPLIED), (State.PLANNING, State.PLANNING), (State.REJECTED, State.REJECTED)],
)
def test_what_a_newer_revision_deployed_counts_as_applied_in_its_stack(other, state):
    (dev,) = overview([FIXED, member("dev", "app", other)])
    assert dev.state is state


def test_what_was_rejected_is_part_of_what_a_change_tells():
    stacks = overview([member("dev", state=State.REJECTED), member("dev", "b", state=State.APPLIED)])
    assert [one.id for one in needed(stacks).rejected] == ["dev-network"]
    assert (stacks[0].given_up, stacks[0].failed, stacks[0].done) == (1, 0, 1)


def test_a_change_keeps_the_name_of_its_first_deployments_when_one_is_run_again():
    again = amended(DEV, id="dev-again", trigger=Trigger.RERUN, at=DEV.request.at - timedelta(days=1))
    assert naming([again, STAGING, PROD]) is naming([STAGING, PROD])
