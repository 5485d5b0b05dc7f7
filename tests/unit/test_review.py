from __future__ import annotations

import pytest

from tests.builders import NOW, any_plan, any_review, deployment_in
from tidegate.domain.check_run import Button
from tidegate.domain.deployment import State
from tidegate.domain.review import decided, expires_at, moment, review_id


def test_a_decision_names_who_decided_and_when():
    approved = decided(deployment_in(State.AWAITING_REVIEW), Button.CONFIRM, "reviewer", NOW)
    assert (approved.state, approved.review.approved, approved.review.by, approved.review.at) == (
        State.APPROVED,
        True,
        "reviewer",
        NOW,
    )
    assert decided(deployment_in(State.AWAITING_REVIEW), Button.REJECT, "reviewer", NOW).state is State.REJECTED


@pytest.mark.parametrize(
    "deployment", [deployment_in(State.APPLIED), deployment_in(State.AWAITING_REVIEW, review=None)]
)
def test_what_does_not_wait_for_a_review_cannot_be_decided(deployment):
    with pytest.raises(ValueError, match=deployment.id):
        decided(deployment, Button.CONFIRM, "reviewer", NOW)


def test_a_review_waits_for_seven_days():
    assert moment(expires_at(any_review(asked_at="2026-02-26T23:30:00.000000+00:00"))) == "2026-03-05 23:30 UTC"


def test_another_plan_has_another_review():
    deployment = deployment_in(State.PLANNING)
    assert review_id(deployment, any_plan()) == review_id(deployment, any_plan())
    assert review_id(deployment, any_plan()) != review_id(deployment, any_plan(job="network-plan-2"))
