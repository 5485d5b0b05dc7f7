from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW, amended, any_deployment, any_plan, any_revision, any_root, deployment_in
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.gate import (
    BEFORE_PLAN,
    DONE,
    WAITING,
    Dependency,
    Opening,
    Point,
    can_be_retried,
    dependency,
    evaluate_gate,
    is_held_as,
    looked_at,
    lost,
    point_of,
    rejected,
    successor,
    superseded,
    waits_for,
)
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State, is_final
from tidegate.deploys.rules.timeline import Step
from tidegate.deploys.rules.waiting import AfterGate, Gate

EARLY, PLANNED, LATE = (utc(f"2026-03-02T0{hour}:00:00") for hour in (7, 8, 9))
LATER = utc("2026-03-02T10:00")

ENDED = {state for state in State if is_final(state)}
RUNNING = set(State) - ENDED - {State.BLOCKED}


def waiting(plan=True, **fields):
    """Return a deployment that waits, before its apply or before its plan."""
    gate = Gate("job-1" if plan else BEFORE_PLAN, NOW)
    deployment = any_deployment(
        state=State.GATED,
        stack="prod",
        plan=any_plan() if plan else None,
        gate=gate,
        waits=Waits(("network",), ("base",), ("dev",)),
        history=(Step(State.PLANNING, PLANNED), Step(State.GATED, PLANNED)),
    )
    return amended(deployment, **fields)


def one(state, at=EARLY, root="app", stack="dev"):
    return Dependency(root, stack, state, at, at if state is State.APPLIED else None)


BAD = [(state, Opening.BLOCKED) for state in [*ENDED - DONE, State.BLOCKED]]
CASES = [
    *[(point, state, opening) for point in Point for state, opening in sorted(BAD)],
    *[(point, state, Opening.WAIT) for point in Point for state in sorted(RUNNING)],
    *[(point, state, Opening.OPEN) for point in Point for state in sorted(DONE)],
]


@pytest.mark.parametrize(("point", "state", "opening"), CASES)
def test_every_state_of_what_is_waited_for_opens_blocks_or_holds_back(point, state, opening):
    verdict = evaluate_gate(waiting(), [one(state)], point)
    assert verdict.opening is opening
    assert verdict.names == (() if opening is Opening.OPEN else ("app (dev)",))
    assert (verdict.names and verdict.names[0] in verdict.reason) or verdict.opening is Opening.OPEN


@pytest.mark.parametrize(
    ("point", "state", "at", "opening"),
    [
        (Point.APPLY, State.APPLIED, EARLY, Opening.OPEN),
        (Point.APPLY, State.APPLIED, PLANNED, Opening.OPEN),
        (Point.APPLY, State.APPLIED, LATE, Opening.PLAN_AGAIN),
        (Point.APPLY, State.NO_CHANGES, LATE, Opening.OPEN),
        (Point.PLAN, State.APPLIED, LATE, Opening.OPEN),
    ],
)
def test_what_was_applied_after_a_plan_began_asks_for_another_one(point, state, at, opening):
    assert evaluate_gate(waiting(), [one(state, at)], point).opening is opening


def test_a_plan_is_as_old_as_its_newest_beginning():
    again = waiting(history=(Step(State.PLANNING, EARLY), Step(State.GATED, EARLY), Step(State.PLANNING, LATE)))
    assert evaluate_gate(again, [one(State.APPLIED, PLANNED)], Point.APPLY).opening is Opening.OPEN
    assert evaluate_gate(waiting(history=()), [one(State.APPLIED)], Point.APPLY).opening is Opening.PLAN_AGAIN


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, True),
        ({"gate": None}, True),
        ({"pull_request": 7}, False),
        ({"waits": Waits(refused=(("app", "dev"),))}, False),
        ({"gate": Gate("plan", NOW, cycle="They wait for each other.")}, False),
    ],
)
def test_only_what_failed_on_the_default_branch_can_be_run_again(fields, expected):
    assert can_be_retried(waiting(**fields)) is expected


def test_nothing_to_wait_for_is_an_open_gate():
    assert evaluate_gate(waiting(), [], Point.APPLY).opening is Opening.OPEN


def test_one_bad_end_blocks_whatever_the_others_do():
    others = [one(State.PLANNING), one(State.REJECTED, root="db"), one(State.REFUSED, root="web")]
    verdict = evaluate_gate(waiting(), others, Point.APPLY)
    assert verdict.opening is Opening.BLOCKED
    assert verdict.reason == "db (dev) was rejected, and 1 other failed or is blocked, too."


def test_the_cause_that_came_first_is_named_and_not_what_is_only_blocked_by_it():
    blocked, later, first = one(State.BLOCKED, EARLY), one(State.REFUSED, LATE, "db"), one(State.REJECTED, root="web")
    reason = evaluate_gate(waiting(), [blocked, later, first], Point.APPLY).reason
    assert reason == "web (dev) was rejected, and 2 others failed or are blocked, too."
    assert evaluate_gate(waiting(), [blocked], Point.APPLY).reason == "app (dev) is blocked."


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1, "app-0 (dev)"),
        (2, "app-0 (dev) and app-1 (dev)"),
        (3, "app-0 (dev), app-1 (dev) and app-2 (dev)"),
        (4, "4 others"),
        (10, "10 others"),
        (11, "at least 8 others"),
        (16, "at least 16 others"),
        (1000, "at least 512 others"),
    ],
)
def test_a_reason_names_few_and_changes_seldom_for_many(count, told):
    many = [one(State.PLANNING, root=f"app-{number}") for number in range(count)]
    assert evaluate_gate(waiting(), many, Point.APPLY).reason == f"Waiting for {told}."


states = st.sampled_from(State)
times = st.sampled_from([EARLY, PLANNED, LATE])
dependencies = st.lists(st.builds(Dependency, st.sampled_from("abcdef"), st.just("dev"), states, times), max_size=6)


@given(dependencies, st.sampled_from(Point))
def test_a_gate_opens_exactly_when_all_is_done(many, point):
    verdict = evaluate_gate(waiting(), many, point)
    is_open = verdict.opening in {Opening.OPEN, Opening.PLAN_AGAIN}
    assert is_open == all(each.state in DONE for each in many)


@given(dependencies, st.sampled_from(Point), st.randoms())
def test_the_order_of_what_is_waited_for_does_not_matter(many, point, random):
    shuffled = random.sample(many, len(many))
    assert evaluate_gate(waiting(), shuffled, point).opening is evaluate_gate(waiting(), many, point).opening


@given(dependencies, st.sampled_from(["app", "db"]))
def test_whatever_else_goes_on_one_bad_end_blocks(many, root):
    assert evaluate_gate(waiting(), [*many, one(State.REJECTED, root=root)], Point.PLAN).opening is Opening.BLOCKED


@given(dependencies, st.booleans())
def test_a_look_moves_only_as_a_deployment_may_and_a_second_one_changes_nothing(many, plan):
    before = waiting(plan=plan)
    after = looked_at(before, many, LATER)
    assert after.state in WAITING
    assert looked_at(after, many, LATER) == after
    assert (after.gate.next is not None) == all(each.state in DONE for each in many)


@given(dependencies, dependencies)
def test_what_was_decided_stays_whatever_happens_then(many, others):
    decided = looked_at(waiting(), many, LATER)
    if decided.gate.next is not None:
        assert looked_at(decided, others, LATER) == decided


@pytest.mark.parametrize(
    ("before", "dependency_", "when", "next_"),
    [
        (waiting(plan=False), one(State.APPLIED, LATE), PlanReview.ALWAYS, AfterGate.PLAN),
        (waiting(), one(State.APPLIED), PlanReview.ALWAYS, AfterGate.REVIEW),
        (waiting(), one(State.APPLIED), PlanReview.NEVER, AfterGate.APPLY),
        (waiting(), one(State.APPLIED, LATE), PlanReview.NEVER, AfterGate.PLAN_AGAIN),
        (waiting(), one(State.PLANNING), PlanReview.NEVER, None),
        (waiting(), one(State.REJECTED), PlanReview.NEVER, None),
    ],
)
def test_an_open_gate_leads_to_the_plan_the_review_or_the_apply(before, dependency_, when, next_):
    looked = looked_at(amended(before, review_rule=ReviewRule(when=when)), [dependency_], LATER)
    assert looked.gate.next is next_
    assert looked.gate.at == (LATER if next_ else None)


def test_a_blocked_deployment_is_gated_again_once_what_failed_runs_again_and_goes_on_when_it_is_done():
    blocked = looked_at(waiting(), [one(State.REJECTED)], LATER)
    assert (blocked.state, blocked.reason) == (State.BLOCKED, "app (dev) was rejected.")
    gated = looked_at(blocked, [one(State.QUEUED)], LATER)
    assert (gated.state, gated.gate.next) == (State.GATED, None)
    done = looked_at(blocked, [one(State.NO_CHANGES)], LATER)
    assert (done.state, done.gate.next) == (State.GATED, AfterGate.REVIEW)
    assert [step.state for step in done.history][-2:] == [State.BLOCKED, State.GATED]


@pytest.mark.parametrize("other", [any_deployment(), deployment_in(State.APPLIED, gate=Gate("job-1", NOW))])
def test_what_does_not_wait_is_left_alone(other):
    assert looked_at(other, [one(State.REJECTED)], LATER) == other


@pytest.mark.parametrize(
    ("plan", "root", "stack", "expected"),
    [
        (False, "network", "prod", True),
        (False, "network", "dev", False),
        (False, "any", "base", True),
        (False, "any", "dev", False),
        (False, "any", "prod", False),
        (True, "any", "dev", True),
        (True, "any", "prod", False),
        (True, "network", "prod", True),
        (True, "any", "base", True),
    ],
)
def test_what_goes_before_the_plan_is_waited_for_there_and_before_the_apply_too(plan, root, stack, expected):
    assert waits_for(waiting(plan=plan, root=any_root(name="app")), root, stack) is expected


def test_nothing_waits_for_itself():
    assert not waits_for(waiting(plan=False), "network", "prod")


def test_a_gate_is_before_the_plan_until_there_is_one():
    assert point_of(waiting(plan=False)) is Point.PLAN
    assert point_of(waiting()) is Point.APPLY


def test_what_has_no_record_yet_is_waited_for():
    assert dependency("app", "dev", None) == Dependency("app", "dev", State.QUEUED)


def test_what_is_waited_for_came_to_its_state_with_the_last_step_of_its_history():
    applied = deployment_in(State.APPLIED, history=(Step(State.APPLYING, EARLY), Step(State.APPLIED, LATE)))
    assert dependency("app", "dev", applied) == Dependency("app", "dev", State.APPLIED, LATE, LATE)
    assert dependency("app", "dev", replace(applied, history=())).at == NOW


@pytest.mark.parametrize("state", sorted(WAITING))
def test_a_rejection_says_by_whom_and_ends_the_deployment_so(state):
    decided = rejected(waiting(state=state), Gate("job-1", NOW), "reviewer", LATER)
    assert (decided.state, decided.gate.next, decided.rejected_by) == (state, AfterGate.REJECTED, "reviewer")
    ended = decided.ended(decided.outcome.ending)
    assert (ended.state, ended.history[-1].by, ended.changed_at) == (State.REJECTED, "reviewer", LATER)


def test_one_that_is_superseded_names_the_newer_one_and_why_it_was_blocked():
    newer = any_deployment(2)
    old = superseded(waiting(state=State.BLOCKED, reason="app (dev) failed."), Gate("job-1", NOW), newer, LATER)
    assert (old.gate.next, old.lineage.superseded_by) == (AfterGate.SUPERSEDED, newer.id)
    assert old.rejected_by is None
    assert old.outcome.ending.state is State.SUPERSEDED
    assert newer.revision.short in old.outcome.ending.reason
    assert "app (dev) failed." in old.outcome.ending.reason


def line(**fields):
    return amended(any_deployment(2, stack="prod"), **fields)


@pytest.mark.parametrize(
    ("other", "is_one"),
    [
        (line(), True),
        (line(trigger=Trigger.MANUAL), False),
        (line(trigger=Trigger.RERUN), False),
        (line(stack="dev"), False),
        (line(revision=any_revision(1)), False),
        (line(requested_at=EARLY), False),
        (line(root=any_root(name="app")), False),
    ],
)
def test_only_a_newer_merge_of_the_same_root_and_stack_takes_the_place_of_a_blocked_one(other, is_one):
    assert successor(waiting(state=State.BLOCKED), [other]) == (other if is_one else None)


def test_the_next_in_line_takes_the_place():
    second, third = any_deployment(2, stack="prod"), any_deployment(3, stack="prod")
    assert successor(waiting(), [third, second]) == second


def test_what_is_run_again_is_as_old_as_what_was_asked_for_first():
    again = waiting(state=State.BLOCKED, trigger=Trigger.RERUN, requested_at=LATE)
    assert successor(again, [line()]) is None
    assert successor(amended(again, first_requested_at=EARLY), [line()]) == line()


@pytest.mark.parametrize(
    ("roots", "members", "expected"),
    [
        (("network",), [("network", "prod")], True),
        ((), [("network", "prod")], False),
        (("network",), [], False),
    ],
)
def test_a_newer_one_is_held_as_the_older_one_when_it_waits_for_the_same_roots(roots, members, expected):
    old = waiting(plan=False, root=any_root(name="app"), waits=Waits(roots=("network",)))
    newer = amended(old, waits=Waits(roots=roots))
    assert is_held_as(newer, old, members, {("network", "prod"): False, ("other", "prod"): False}) is expected
    assert is_held_as(newer, old, members, {("network", "prod"): True}), "it is done"
    assert not is_held_as(newer, old, members, {("network", "dev"): False}), "it is not known any more"


@pytest.mark.parametrize(("others", "expected"), [(0, True), (99, False)])
def test_who_corrects_what_was_refused_and_waits_for_it_is_held_as_before(others, expected):
    refused = (("app", "dev"), *((f"app-{number}", "dev") for number in range(others)))
    old = waiting(plan=False, root=any_root(name="app"), waits=Waits(refused=refused))
    newer = amended(old, waits=Waits(apply_after=("dev",)))
    assert is_held_as(newer, old, {*refused, ("app", "prod")}, {}) is expected
    assert not is_held_as(amended(newer, waits=Waits()), old, refused, {})


def test_an_apply_that_failed_and_was_run_again_without_changes_has_changed_what_was_planned():
    again = deployment_in(State.NO_CHANGES, history=(Step(State.NO_CHANGES, LATE),), touched_at=LATE)
    verdict = evaluate_gate(waiting(), [dependency("app", "dev", again)], Point.APPLY)
    assert verdict.opening is Opening.PLAN_AGAIN


@pytest.mark.parametrize(
    ("plan", "members", "gone"),
    [
        (True, {("app", "dev"), ("network", "prod"), ("x", "base")}, []),
        (True, {("network", "prod")}, ["stack base", "stack dev"]),
        (False, {("x", "base")}, ["network (prod)"]),
        (False, {("network", "dev"), ("x", "base")}, ["network (prod)"]),
    ],
)
def test_what_the_change_has_forgotten_is_told_and_opens_no_gate(plan, members, gone):
    found = lost(waiting(plan=plan), members)
    assert [each.name for each in found] == gone
    if found:
        assert evaluate_gate(waiting(plan=plan), found, Point.APPLY).opening is Opening.BLOCKED
