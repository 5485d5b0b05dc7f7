from __future__ import annotations

import pytest

from tests.builders import any_review, deployment_in
from tidegate.deploys.jobs.finish import Finisher
from tidegate.deploys.reviews.carry_out_review import ReviewCarrier
from tidegate.deploys.rules.deployment import Approval, State
from tidegate.reconciler.settle_reviews import SettleReviews


@pytest.fixture
def repair(world):
    finisher = Finisher(world.deployments, world.jobs, world.audit)
    carrier = ReviewCarrier(world.deployments, world.workflows, world.announcements, finisher)
    return SettleReviews(world.deployments, carrier.carry_out)


def _approved(world, seconds_ago):
    """Put a deployment that was approved so long ago, and whose execution still waits."""
    at = world.clock.now()
    review = any_review(approved=True, by="reviewer", at=at, approvals=(Approval("reviewer", at),))
    deployment = world.put(deployment_in(State.APPROVED, review=review))
    world.deployments.keep_review_token(deployment.id, review.id, "token")
    world.workflows.waiting.add("token")
    world.clock.advance(seconds_ago)
    return deployment


def test_an_approval_that_reached_nobody_is_carried_out(world, repair):
    _approved(world, 61)
    assert world.take_turn(repair) == 1
    assert world.workflows.settled["token"]["approved"] is True


def test_carrying_it_out_twice_changes_nothing(world, repair):
    deployment = _approved(world, 61)
    world.take_turn(repair)
    before = world.deployments.get(deployment.id)
    world.take_turn(repair)
    assert world.deployments.get(deployment.id) == before


def test_an_answer_of_this_moment_is_left_to_whoever_recorded_it(world, repair):
    _approved(world, 59)
    assert world.take_turn(repair) == 0
    assert world.workflows.settled == {}


def test_a_review_that_nobody_answered_waits_on(world, repair):
    world.put(deployment_in(State.AWAITING_REVIEW))
    world.clock.advance(3600)
    assert world.take_turn(repair) == 0


def test_a_record_that_has_gone_is_passed_over(world, repair):
    world.deployments.unshown = lambda: ["gone"]
    assert world.take_turn(repair) == 0
