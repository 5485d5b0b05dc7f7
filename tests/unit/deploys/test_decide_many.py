"""Several reviews at once: each is decided, refused or fails on its own."""

from __future__ import annotations

import pytest

from tests.builders import any_root, deployment_in
from tests.instants import utc
from tests.unit.jobs.terraform_scenario import Scenario
from tidegate.deploys.authorize import person_asking
from tidegate.deploys.reviews.decide_many import ManyAnswer, decide_many
from tidegate.deploys.rules.review import Answer
from tidegate.deploys.rules.review_rule import ReviewRule
from tidegate.deploys.rules.state import State
from tidegate.rules.access import Access

LATER = utc("2026-03-02T10:00")


@pytest.fixture
def scenario():
    return Scenario()


def decide(scenario, answer, *deployments, seen="", **said):
    chosen = [(each, seen or each.planned.plan.file.sha256) for each in deployments]
    asking = person_asking(scenario.ports, deployments[0].repository, "reviewer")
    told = decide_many(scenario.ports, asking, chosen, ManyAnswer(answer, "reviewer", LATER, **said))
    return [decision.done for _, decision in told], [scenario.deployments.get(each.id).state for each in deployments]


def waiting(scenario, number, **fields):
    return scenario.put(deployment_in(State.AWAITING_REVIEW, number, root=any_root(name=f"root-{number}"), **fields))


def test_each_is_decided_by_its_own_rules(scenario):
    allowed = waiting(scenario, 1)
    denied = waiting(scenario, 2, access=Access(review=("team:sre",)))
    authored = waiting(scenario, 3, review_rule=ReviewRule(exclude_authors=True), authors=("reviewer",))
    protected = waiting(scenario, 4, review_rule=ReviewRule(protected=True))
    done, states = decide(scenario, Answer.APPROVE, denied, authored, protected, allowed, reason="as agreed")
    assert done == [False, False, False, True]
    assert states == [*[State.AWAITING_REVIEW] * 3, State.APPROVED]
    assert scenario.deployments.get(allowed.id).review.reason == "as agreed"
    assert decide(scenario, Answer.APPROVE, protected, destroys=True) == ([True], [State.APPROVED])


def test_only_the_plan_that_was_shown_is_approved(scenario):
    one = waiting(scenario, 1)
    assert decide(scenario, Answer.APPROVE, one, seen="f" * 64) == ([False], [State.AWAITING_REVIEW])


def test_what_fails_is_told_and_can_be_tried_again(scenario):
    both = waiting(scenario, 1), waiting(scenario, 2)
    scenario.audit.unavailable = True
    assert decide(scenario, Answer.REJECT, *both) == ([False, False], [State.AWAITING_REVIEW] * 2)
    scenario.audit.unavailable = False
    assert decide(scenario, Answer.REJECT, *both) == ([True, True], [State.REJECTED] * 2)
