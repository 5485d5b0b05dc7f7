from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_plan, any_review, deployment_in
from tests.instants import utc
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.rerun import run_again
from tidegate.deploys.rules.review import (
    Answer,
    Followup,
    Need,
    answer_given,
    asks_twice,
    check_click,
    decided,
    evaluate_plan,
    excluded,
    expires_at,
    missing_approvals,
    moment,
    review_id,
)
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval
from tidegate.plans.rules.plan import PlannedChanges

LATER = utc("2026-03-02T10:00")


def waiting(*, approvals=1, exclude_authors=False, **fields):
    rule = ReviewRule(approvals=approvals, exclude_authors=exclude_authors)
    return deployment_in(State.AWAITING_REVIEW, review_rule=rule, **fields)


def test_the_only_approval_that_is_needed_decides_and_names_who_and_when():
    approved = decided(waiting(), Answer.APPROVE, "reviewer", NOW)
    review = approved.review
    assert (approved.state, review.approved, review.by, review.at) == (State.APPROVED, True, "reviewer", NOW)
    assert (approved.history[-1].by, approved.history[-1].at) == ("reviewer", NOW)
    assert answer_given(approved, "reviewer") == "reviewer approved the plan."


def test_a_rejection_is_an_ending_that_nobody_sees_before_the_audit_topic_does():
    rejected = decided(waiting(approvals=3), Answer.REJECT, "reviewer", NOW)
    assert (rejected.state, rejected.outcome.ending.state, rejected.outcome.ending.at) == (
        State.AWAITING_REVIEW,
        State.REJECTED,
        NOW,
    )
    ended = rejected.ended(rejected.outcome.ending)
    assert (ended.state, ended.review.approved, ended.history[-1].by) == (State.REJECTED, False, "reviewer")
    assert answer_given(ended, "reviewer") == "reviewer rejected the plan."


def test_several_approvals_come_from_as_many_people():
    first = decided(waiting(approvals=3), Answer.APPROVE, "first", NOW)
    assert (first.state, first.review.approved, missing_approvals(first)) == (State.AWAITING_REVIEW, None, 2)
    assert "2 more approvals are needed" in answer_given(first, "first")
    assert check_click(first, Answer.APPROVE, "FIRST", LATER).followup is Followup.REFUSE
    second = decided(first, Answer.APPROVE, "second", NOW)
    assert "1 more approval is needed" in answer_given(second, "second")
    third = decided(second, Answer.APPROVE, "third", LATER)
    assert third.state is State.APPROVED
    assert third.review.approvals == (Approval("first", NOW), Approval("second", NOW), Approval("third", LATER))
    assert (third.review.by, third.review.at) == ("third", LATER)


def test_one_rejection_decides_whoever_approved_before():
    first = decided(waiting(approvals=2), Answer.APPROVE, "first", NOW)
    assert check_click(first, Answer.REJECT, "first", LATER).followup is Followup.DECIDE
    assert decided(first, Answer.REJECT, "first", LATER).outcome.ending.state is State.REJECTED


@pytest.mark.parametrize("person", ["maintainer", "Developer"])
def test_who_made_or_asked_for_the_change_may_not_approve_it_where_authors_are_excluded(person):
    deployment = waiting(exclude_authors=True, authors=("developer",))
    assert "so another person must approve it" in check_click(deployment, Answer.APPROVE, person, NOW).reason
    assert check_click(deployment, Answer.REJECT, person, NOW).followup is Followup.DECIDE
    assert check_click(deployment, Answer.APPROVE, "reviewer", NOW).followup is Followup.DECIDE
    assert check_click(waiting(authors=("developer",)), Answer.APPROVE, person, NOW).followup is Followup.DECIDE


@pytest.mark.parametrize("answer", Answer)
def test_the_same_answer_again_is_settled_again(answer):
    answered = decided(waiting(approvals=2), answer, "reviewer", NOW)
    assert check_click(answered, answer, "reviewer", NOW).followup is Followup.SETTLE_AGAIN
    assert check_click(answered, answer, "reviewer", LATER).followup is Followup.REFUSE


@pytest.mark.parametrize("state", sorted(set(State) - {State.AWAITING_REVIEW}))
def test_what_does_not_wait_is_not_decided_and_says_why(state):
    verdict = check_click(deployment_in(state), Answer.APPROVE, "somebody", LATER)
    assert verdict.followup is Followup.REFUSE
    assert verdict.reason


def test_a_review_that_ended_without_an_answer_is_over():
    fault = replace(waiting(), state=State.ENGINE_FAULT)
    assert "engine fault" in check_click(fault, Answer.APPROVE, "reviewer", NOW).reason


@pytest.mark.parametrize(
    "deployment", [deployment_in(State.APPLIED), deployment_in(State.AWAITING_REVIEW, review=None)]
)
def test_what_does_not_wait_for_a_review_cannot_be_decided(deployment):
    with pytest.raises(ValueError, match=deployment.id):
        decided(deployment, Answer.APPROVE, "reviewer", NOW)


def test_without_a_review_all_approvals_are_missing():
    assert missing_approvals(deployment_in(State.PLANNING)) == 1


def test_a_review_waits_for_seven_days():
    assert moment(expires_at(any_review(asked_at=utc("2026-02-26T23:30")))) == "2026-03-05 23:30 UTC"


def test_another_plan_has_another_review():
    deployment = deployment_in(State.PLANNING)
    assert review_id(deployment, any_plan()) == review_id(deployment, any_plan())
    assert review_id(deployment, any_plan()) != review_id(deployment, any_plan(job="network-plan-2"))


def test_who_is_excluded_is_named_once_and_nobody_is_where_authors_count():
    made = deployment_in(State.AWAITING_REVIEW, authors=("Dev", "ann"), requested_by="dev")
    assert excluded(made) == ()
    assert excluded(replace(made, settings=replace(made.settings, review_rule=ReviewRule(exclude_authors=True)))) == (
        "dev",
        "ann",
    )


@pytest.mark.parametrize(("look_twice", "need"), [(True, Need.REVIEW), (False, Need.APPLY)])
def test_who_takes_the_place_of_a_blocked_deployment_without_its_gate_is_reviewed_whatever_the_rule(look_twice, need):
    rule = ReviewRule(when=PlanReview.NEVER)
    newer = deployment_in(State.PLANNING, supersedes="network-1", look_twice=look_twice, review_rule=rule)
    assert evaluate_plan(newer, any_plan()).next is need


@pytest.mark.parametrize(
    ("more", "told"), [((), "app (dev), which"), ((("web", "dev"),), "app (dev) and 1 more, which")]
)
def test_what_goes_after_something_that_is_deployed_by_hand_only_is_reviewed_whatever_the_rule(more, told):
    waits = Waits(by_hand=(("app", "dev"), *more))
    prod = deployment_in(State.PLANNING, waits=waits, review_rule=ReviewRule(when=PlanReview.NEVER))
    verdict = evaluate_plan(prod, any_plan())
    assert (verdict.next, told in verdict.reason) == (Need.REVIEW, True)


def test_run_again_it_is_reviewed_as_well():
    newer = deployment_in(State.REJECTED, look_twice=True, review_rule=ReviewRule(when=PlanReview.NEVER))
    assert evaluate_plan(run_again(newer, "main", "maintainer", LATER, "1"), any_plan()).next is Need.REVIEW


def test_a_plan_by_other_rules_waits_also_where_plans_are_not_reviewed():
    never = ReviewRule(PlanReview.NEVER)
    changed = deployment_in(State.PLANNING, review_rule=never, rule_changes=("workflows", "hooks"))
    verdict = evaluate_plan(changed, any_plan())
    assert verdict.next is Need.REVIEW
    assert "workflows and hooks" in verdict.reason
    assert evaluate_plan(run_again(changed, "writer", "request", NOW, "main"), any_plan()).next is Need.REVIEW


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (PlannedChanges(add=1), ""),
        (PlannedChanges(destroy=1), "destroys 1 resource"),
        (PlannedChanges(destroy=2), "destroys 2 resources"),
        (PlannedChanges(replace=1), "replaces 1 resource"),
        (PlannedChanges(replace=3), "replaces 3 resources"),
        (PlannedChanges(destroy=2, replace=1), "destroys 2 resources and replaces 1"),
    ],
)
@pytest.mark.parametrize("protected", [True, False])
def test_what_destroys_something_in_a_protected_stack_is_reviewed_whatever_the_rule(protected, changes, told):
    rule, plan = ReviewRule(PlanReview.NEVER, protected=protected), any_plan(changes=changes)
    verdict = evaluate_plan(deployment_in(State.PLANNING, stack="prod", review_rule=rule), plan)
    assert verdict.next is (Need.REVIEW if protected and told else Need.APPLY)
    assert (f"Stack prod is protected, and the plan {told}." == verdict.reason) is bool(protected and told)
    assert asks_twice(deployment_in(State.AWAITING_REVIEW, review_rule=rule, plan=plan)) is bool(protected and told)


def test_a_rule_protects_if_one_of_two_does():
    assert ReviewRule(protected=True).and_also(ReviewRule()) == ReviewRule(protected=True)
