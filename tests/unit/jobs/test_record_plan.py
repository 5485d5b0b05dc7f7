from __future__ import annotations

from dataclasses import asdict

import pytest
from pydantic import ValidationError

from tests.builders import any_plan, deployment_in
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.changes.rules.waits import Waits
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.review import review_id
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Review
from tidegate.jobs.record_plan import record_plan
from tidegate.messages import RecordPlan
from tidegate.plans.rules.plan import PlannedChanges
from tidegate.rules.errors import WrongState

EMPTY = PlannedChanges()
ADDS = PlannedChanges(add=1)


@pytest.fixture
def scenario():
    return Scenario()


def record(scenario, plan, when=PlanReview.ALWAYS, **fields):
    deployment = deployment_in(State.PLANNING, review_rule=ReviewRule(when), **fields)
    scenario.deployments.add(deployment)
    recorded = record_plan(scenario.ports, RecordPlan(deployment=deployment.id, plan=plan))
    return recorded, scenario.deployments.get(deployment.id)


def test_an_empty_plan_ends_the_deployment(scenario):
    recorded, deployment = record(scenario, any_plan(changes=EMPTY))
    assert recorded.next == "nothing"
    assert deployment.state is State.NO_CHANGES
    assert scenario.states() == [State.NO_CHANGES]


@pytest.mark.parametrize("when", PlanReview)
def test_an_empty_plan_needs_no_review_even_of_a_diverged_revision(scenario, when):
    recorded, _ = record(scenario, any_plan(changes=EMPTY), when, must_review="It has diverged.")
    assert recorded.next == "nothing"


@pytest.mark.parametrize("changes", [ADDS, PlannedChanges(outputs=1), PlannedChanges(moved=1)])
def test_every_plan_with_changes_waits_for_review(scenario, changes):
    recorded, deployment = record(scenario, any_plan(changes=changes))
    assert recorded.next == "review"
    assert (deployment.state, deployment.planned.plan) == (State.AWAITING_REVIEW, any_plan(changes=changes))
    assert deployment.review == Review(
        id=review_id(deployment, deployment.planned.plan), asked_at=deployment.changed_at
    )
    assert scenario.states() == [State.AWAITING_REVIEW], "the review is shown before anything waits for its token"
    assert scenario.event_publisher.lines == [deployment.queue]


@pytest.mark.parametrize("when", PlanReview)
def test_a_revision_that_must_be_reviewed_is_whatever_the_rule(scenario, when):
    recorded, _ = record(scenario, any_plan(changes=ADDS), when, must_review="It has diverged.")
    assert (recorded.next, recorded.reason) == ("review", "It has diverged.")


@pytest.mark.parametrize("changes", [ADDS, PlannedChanges(destroy=1), PlannedChanges(replace=1)])
@pytest.mark.parametrize(
    ("when", "trigger"),
    [(PlanReview.NEVER, Trigger.MERGE), (PlanReview.NEVER, Trigger.MANUAL), (PlanReview.MANUAL, Trigger.RERUN)],
)
def test_what_the_rule_does_not_ask_to_review_is_applied_at_once(scenario, changes, when, trigger):
    recorded, deployment = record(scenario, any_plan(changes=changes), when, trigger=trigger)
    assert recorded.next == "apply"
    assert (deployment.state, deployment.review) == (State.APPROVED, None)
    assert scenario.states() == [State.APPROVED]


def test_deployments_by_hand_are_reviewed_where_only_those_are(scenario):
    recorded, _ = record(scenario, any_plan(changes=ADDS), PlanReview.MANUAL, trigger=Trigger.MANUAL)
    assert recorded.next == "review"


@pytest.mark.parametrize(("changes", "when"), [(EMPTY, "always"), (ADDS, "always"), (ADDS, "never")])
def test_recording_the_same_plan_again_answers_the_same(scenario, changes, when):
    first, before = record(scenario, any_plan(changes=changes), PlanReview(when))
    again, after = record(scenario, any_plan(changes=changes), PlanReview(when))
    assert again == first
    assert after.state is before.state


def test_a_plan_for_a_deployment_that_ended_is_refused(scenario):
    scenario.put(deployment_in(State.ENGINE_FAULT))
    with pytest.raises(WrongState):
        record(scenario, any_plan())


@pytest.mark.parametrize("changes", [{}, None, {"add": 1}])
def test_a_plan_that_was_not_counted_is_never_an_empty_one(changes):
    with pytest.raises(ValidationError, match="the plan's changes must have the"):
        RecordPlan.model_validate({"deployment": "d", "plan": {**asdict(any_plan()), "changes": changes}})


def test_a_plan_is_read_as_the_runner_writes_it():
    assert RecordPlan.model_validate({"deployment": "d", "plan": asdict(any_plan())}).plan == any_plan()


@pytest.mark.parametrize("when", PlanReview)
def test_a_plan_waits_for_other_stacks_before_anything_else(scenario, when):
    recorded, deployment = record(scenario, any_plan(changes=ADDS), when, waits=Waits(apply_after=("dev",)))
    assert recorded.next == "gate"
    assert (deployment.state, deployment.planned.plan.changes) == (State.PLANNING, ADDS)
    assert scenario.states() == []


def test_an_empty_plan_waits_for_nobody(scenario):
    recorded, deployment = record(scenario, any_plan(changes=EMPTY), waits=Waits(apply_after=("dev",)))
    assert (recorded.next, deployment.state) == ("nothing", State.NO_CHANGES)
