from __future__ import annotations

from tests.builders import any_review, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval
from tidegate.reconciler.settle_reviews import settle_reviews


def _approved(scenario, seconds_ago):
    """Put a deployment that was approved so long ago, and whose execution still waits."""
    at = scenario.clock.now()
    review = any_review(approved=True, by="reviewer", at=at, approvals=(Approval("reviewer", at),))
    deployment = scenario.put(deployment_in(State.APPROVED, review=review))
    scenario.deployments.keep_review_token(deployment.id, review.id, "token")
    scenario.workflows.waiting.add("token")
    scenario.clock.advance(seconds_ago)
    return deployment


def test_an_approval_that_reached_nobody_is_carried_out(scenario):
    _approved(scenario, 61)
    assert scenario.take_turn(settle_reviews) == 1
    assert scenario.workflows.settled["token"]["approved"] is True


def test_carrying_it_out_twice_changes_nothing(scenario):
    deployment = _approved(scenario, 61)
    scenario.take_turn(settle_reviews)
    before = scenario.deployments.get(deployment.id)
    scenario.take_turn(settle_reviews)
    assert scenario.deployments.get(deployment.id) == before


def test_an_answer_of_this_moment_is_left_to_whoever_recorded_it(scenario):
    _approved(scenario, 59)
    assert scenario.take_turn(settle_reviews) == 0
    assert scenario.workflows.settled == {}


def test_a_review_that_nobody_answered_waits_on(scenario):
    scenario.put(deployment_in(State.AWAITING_REVIEW))
    scenario.clock.advance(3600)
    assert scenario.take_turn(settle_reviews) == 0


def test_a_record_that_has_gone_is_passed_over(scenario):
    scenario.deployments.unshown = lambda: ["gone"]
    assert scenario.take_turn(settle_reviews) == 0
