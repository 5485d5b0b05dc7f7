from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import NOW, any_deployment, any_plan, deployment_in
from tests.fakes.ports import changed
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.reviews.request_review import request_review
from tidegate.deploys.reviews.settle_review import settle_review
from tidegate.deploys.rules.review import asked_for, review_id
from tidegate.deploys.rules.state import State
from tidegate.deploys.rules.waiting import AfterGate, Gate
from tidegate.messages import RequestReview
from tidegate.rules.errors import Conflict, WrongState
from tidegate.rules.timestamp import timestamp_text


@pytest.fixture
def scenario():
    return Scenario()


def planned():
    return any_deployment(state=State.PLANNING, plan=any_plan())


def request(scenario, deployment, token="token-1", deployments=None):
    scenario.workflows.waiting.add(token)
    ports = changed(scenario.ports, deployments=deployments or scenario.deployments)
    request_review(ports, RequestReview(deployment=deployment.id, token=token))
    return scenario.deployments.get(deployment.id)


def decide(scenario, deployment, *, approved=True):
    state = State.APPROVED if approved else State.REJECTED
    review = replace(deployment.review, approved=approved, by="reviewer", at=NOW)
    return scenario.deployments.save(replace(deployment.moved(state, NOW), review=review))


def test_the_deployment_waits_for_its_review_and_shows_it(scenario):
    deployment = request(scenario, scenario.put(planned()))
    assert deployment.state is State.AWAITING_REVIEW
    assert deployment.review.asked_at == deployment.changed_at
    assert scenario.deployments.review_token(deployment.id, deployment.review.id) == "token-1"
    assert scenario.states() == [State.AWAITING_REVIEW]
    assert scenario.workflows.settled == {}


def test_the_reviews_id_tells_nothing_of_the_token(scenario):
    deployment = request(scenario, scenario.put(planned()))
    assert deployment.review.id == review_id(deployment, deployment.planned.plan)
    assert "token" not in deployment.review.id


def test_a_retried_request_replaces_the_token_and_keeps_the_review(scenario):
    first = request(scenario, scenario.put(planned()))
    again = request(scenario, first, "token-2")
    assert again.review == first.review
    assert scenario.deployments.review_token(again.id, again.review.id) == "token-2"


def test_what_was_asked_for_before_is_not_announced_again(scenario):
    deployment = scenario.put(asked_for(planned(), any_plan(), NOW))
    asked = request(scenario, deployment)
    assert asked == deployment
    assert scenario.deployments.review_token(asked.id, asked.review.id) == "token-1"
    assert scenario.states() == []


def test_a_retry_announces_what_an_attempt_before_may_not_have(scenario):
    deployment = scenario.put(asked_for(planned(), any_plan(), NOW))
    request_review(scenario.ports, RequestReview(deployment=deployment.id, token="token-2", retry=1))
    assert scenario.states() == [State.AWAITING_REVIEW]


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_that_came_before_any_token_settles_the_first(scenario, approved):
    decide(scenario, scenario.put(asked_for(planned(), any_plan(), NOW)), approved=approved)
    request(scenario, planned())
    assert scenario.workflows.settled == {
        "token-1": {"approved": approved, "by": "reviewer", "at": timestamp_text(NOW)}
    }


def test_a_late_copy_of_an_earlier_attempt_leaves_the_token_that_waits(scenario):
    deployment = scenario.put(planned())
    for retry in (1, 0):
        token = f"token-{retry}"
        request_review(scenario.ports, RequestReview(deployment=deployment.id, token=token, entered=NOW, retry=retry))
    asked = scenario.deployments.get(deployment.id)
    assert scenario.deployments.review_token(asked.id, asked.review.id) == "token-1"


@pytest.mark.parametrize("approved", [True, False])
def test_a_decision_that_came_before_the_retry_settles_the_new_token(scenario, approved):
    waiting = request(scenario, scenario.put(planned()))
    decide(scenario, waiting, approved=approved)
    request(scenario, waiting, "token-2")
    assert scenario.workflows.settled["token-2"] == {"approved": approved, "by": "reviewer", "at": timestamp_text(NOW)}


def test_a_decision_between_keeping_the_token_and_reading_again_is_seen(scenario):
    waiting = request(scenario, scenario.put(planned()))

    class DecidesMeanwhile:
        def get(self, deployment):
            return scenario.deployments.get(deployment)

        def keep_review_token(self, *arguments):
            decided = scenario.deployments.keep_review_token(*arguments)
            decide(scenario, waiting)
            return decided

        review_token = scenario.deployments.review_token

    request(scenario, waiting, "token-2", DecidesMeanwhile())
    assert scenario.workflows.settled["token-2"]["approved"] is True


def test_a_deployment_that_was_changed_meanwhile_is_not_overwritten(scenario):
    deployment = scenario.put(planned())

    class ChangesMeanwhile:
        get = scenario.deployments.get
        save = scenario.deployments.save

        def keep_review_token(self, *_):
            return scenario.deployments.save(deployment) is not None

    with pytest.raises(Conflict):
        request(scenario, deployment, deployments=ChangesMeanwhile())


@pytest.mark.parametrize("state", [State.QUEUED, State.PLANNING, State.APPLYING, State.ENGINE_FAULT, State.NO_CHANGES])
def test_without_a_plan_to_review_nothing_waits(scenario, state):
    deployment = scenario.put(deployment_in(state))
    with pytest.raises(WrongState):
        request(scenario, deployment)
    assert scenario.event_publisher.announced == []


def test_a_review_that_nobody_waits_for_any_more_settles_quietly(scenario):
    settle_review(deployment_in(State.APPROVED), scenario.deployments, scenario.workflows)
    scenario.deployments.keep_review_token(deployment_in(State.APPROVED).id, "review-1", "gone")
    settle_review(deployment_in(State.APPROVED), scenario.deployments, scenario.workflows)
    assert scenario.workflows.settled == {}


def test_a_review_without_a_decision_is_not_settled(scenario):
    with pytest.raises(ValueError, match="no decided review"):
        settle_review(deployment_in(State.AWAITING_REVIEW), scenario.deployments, scenario.workflows)


def test_a_deployment_whose_gate_is_open_waits_for_its_review(scenario):
    gate = Gate("gate", NOW, AfterGate.REVIEW)
    waiting = request(scenario, scenario.put(deployment_in(State.GATED, gate=gate)))
    assert (waiting.state, waiting.gate) == (State.AWAITING_REVIEW, None)


@pytest.mark.parametrize("gate", [None, Gate("gate", NOW), Gate("gate", NOW, AfterGate.REJECTED)])
def test_nobody_reviews_what_still_waits_for_others(scenario, gate):
    deployment = scenario.put(deployment_in(State.GATED, gate=gate))
    with pytest.raises(WrongState):
        request(scenario, deployment)
    assert scenario.deployments.get(deployment.id) == deployment
