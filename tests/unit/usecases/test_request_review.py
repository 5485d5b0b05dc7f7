from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_plan, deployment_in
from tests.fakes.ports import changed
from tests.unit.usecases.terraform_world import World
from tidegate.deploys.reviews.request_review import request_review
from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.review import asked_for, review_id
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.messages import RequestReview
from tidegate.rules.errors import Conflict, WrongState
from tidegate.rules.timestamp import timestamp_text


@pytest.fixture
def world():
    return World()


def planned():
    return any_deployment(state=State.PLANNING, plan=any_plan())


def request(world, deployment, token="token-1", deployments=None):
    world.workflows.waiting.add(token)
    ports = changed(world.ports, deployments=deployments or world.deployments)
    request_review(ports, RequestReview(deployment=deployment.id, token=token))
    return world.deployments.get(deployment.id)


def decide(world, deployment, *, approved=True):
    state = State.APPROVED if approved else State.REJECTED
    review = replace(deployment.review, approved=approved, by="reviewer", at=NOW)
    return world.deployments.save(replace(deployment.moved(state, NOW), review=review))


def test_the_deployment_waits_for_its_review_and_shows_it(world):
    deployment = request(world, world.put(planned()))
    assert deployment.state is State.AWAITING_REVIEW
    assert deployment.review.asked_at == deployment.changed_at
    assert world.deployments.review_token(deployment.id, deployment.review.id) == "token-1"
    assert world.states() == [State.AWAITING_REVIEW]
    assert world.workflows.settled == {}


def test_the_reviews_id_tells_nothing_of_the_token(world):
    deployment = request(world, world.put(planned()))
    assert deployment.review.id == review_id(deployment, deployment.planned.plan)
    assert "token" not in deployment.review.id


def test_a_retried_request_replaces_the_token_and_keeps_the_review(world):
    first = request(world, world.put(planned()))
    again = request(world, first, "token-2")
    assert again.review == first.review
    assert world.deployments.review_token(again.id, again.review.id) == "token-2"


def test_what_was_asked_for_before_is_not_announced_again(world):
    deployment = world.put(asked_for(planned(), any_plan(), NOW))
    asked = request(world, deployment)
    assert asked == deployment
    assert world.deployments.review_token(asked.id, asked.review.id) == "token-1"
    assert world.states() == []


def test_a_retry_announces_what_an_attempt_before_may_not_have(world):
    deployment = world.put(asked_for(planned(), any_plan(), NOW))
    request_review(world.ports, RequestReview(deployment=deployment.id, token="token-2", retry=1))
    assert world.states() == [State.AWAITING_REVIEW]


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_that_came_before_any_token_settles_the_first(world, approved):
    decide(world, world.put(asked_for(planned(), any_plan(), NOW)), approved=approved)
    request(world, planned())
    assert world.workflows.settled == {"token-1": {"approved": approved, "by": "reviewer", "at": timestamp_text(NOW)}}


def test_a_late_copy_of_an_earlier_attempt_leaves_the_token_that_waits(world):
    deployment = world.put(planned())
    for retry in (1, 0):
        token = f"token-{retry}"
        request_review(world.ports, RequestReview(deployment=deployment.id, token=token, entered=NOW, retry=retry))
    asked = world.deployments.get(deployment.id)
    assert world.deployments.review_token(asked.id, asked.review.id) == "token-1"


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_that_came_before_the_retry_settles_the_new_token(world, approved):
    waiting = request(world, world.put(planned()))
    decide(world, waiting, approved=approved)
    request(world, waiting, "token-2")
    assert world.workflows.settled["token-2"] == {"approved": approved, "by": "reviewer", "at": timestamp_text(NOW)}


def test_a_decision_between_keeping_the_token_and_reading_again_is_seen(world):
    waiting = request(world, world.put(planned()))

    class DecidesMeanwhile:
        def get(self, deployment):
            return world.deployments.get(deployment)

        def keep_review_token(self, *arguments):
            decided = world.deployments.keep_review_token(*arguments)
            decide(world, waiting)
            return decided

        review_token = world.deployments.review_token

    request(world, waiting, "token-2", DecidesMeanwhile())
    assert world.workflows.settled["token-2"]["approved"] is True


def test_a_deployment_that_was_changed_meanwhile_is_not_overwritten(world):
    deployment = world.put(planned())

    class ChangesMeanwhile:
        get = world.deployments.get
        save = world.deployments.save

        def keep_review_token(self, *_):
            return world.deployments.save(deployment) is not None

    with pytest.raises(Conflict):
        request(world, deployment, deployments=ChangesMeanwhile())


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.APPLYING, State.ENGINE_FAULT, State.NO_CHANGES])
def test_without_a_plan_to_review_nothing_waits(world, state):
    deployment = world.put(deployment_in(state))
    with pytest.raises(WrongState):
        request(world, deployment)
    assert world.event_publisher.announced == []


def test_a_review_that_nobody_waits_for_any_more_settles_quietly(world):
    settle_review(deployment_in(State.APPROVED), world.deployments, world.workflows)
    world.deployments.keep_review_token(deployment_in(State.APPROVED).id, "review-1", "gone")
    settle_review(deployment_in(State.APPROVED), world.deployments, world.workflows)
    assert world.workflows.settled == {}


def test_a_review_without_a_decision_is_not_settled(world):
    with pytest.raises(ValueError, match="no decided review"):
        settle_review(deployment_in(State.AWAITING_REVIEW), world.deployments, world.workflows)


def test_a_deployment_whose_gate_is_open_waits_for_its_review(world):
    gate = Gate("gate", NOW, AfterGate.REVIEW)
    waiting = request(world, world.put(deployment_in(State.GATED, gate=gate)))
    assert (waiting.state, waiting.gate) == (State.AWAITING_REVIEW, None)


@pytest.mark.parametrize("gate", [None, Gate("gate", NOW), Gate("gate", NOW, AfterGate.REJECTED)])
def test_nobody_reviews_what_still_waits_for_others(world, gate):
    deployment = world.put(deployment_in(State.GATED, gate=gate))
    with pytest.raises(WrongState):
        request(world, deployment)
    assert world.deployments.get(deployment.id) == deployment
