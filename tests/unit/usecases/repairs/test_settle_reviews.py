from __future__ import annotations

from tests.builders import any_review, deployment_in
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import Approval
from tidegate.reconciler.settle_reviews import settle_reviews


def _approved(world, seconds_ago):
    """Put a deployment that was approved so long ago, and whose execution still waits."""
    at = world.clock.now()
    review = any_review(approved=True, by="reviewer", at=at, approvals=(Approval("reviewer", at),))
    deployment = world.put(deployment_in(State.APPROVED, review=review))
    world.deployments.keep_review_token(deployment.id, review.id, "token")
    world.workflows.waiting.add("token")
    world.clock.advance(seconds_ago)
    return deployment


def test_an_approval_that_reached_nobody_is_carried_out(world):
    _approved(world, 61)
    assert world.take_turn(settle_reviews) == 1
    assert world.workflows.settled["token"]["approved"] is True


def test_carrying_it_out_twice_changes_nothing(world):
    deployment = _approved(world, 61)
    world.take_turn(settle_reviews)
    before = world.deployments.get(deployment.id)
    world.take_turn(settle_reviews)
    assert world.deployments.get(deployment.id) == before


def test_an_answer_of_this_moment_is_left_to_whoever_recorded_it(world):
    _approved(world, 59)
    assert world.take_turn(settle_reviews) == 0
    assert world.workflows.settled == {}


def test_a_review_that_nobody_answered_waits_on(world):
    world.put(deployment_in(State.AWAITING_REVIEW))
    world.clock.advance(3600)
    assert world.take_turn(settle_reviews) == 0


def test_a_record_that_has_gone_is_passed_over(world):
    world.deployments.unshown = lambda: ["gone"]
    assert world.take_turn(settle_reviews) == 0
