"""What the organization says around repositories' files, from its file to the deployments of a push."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.unit.pushes.push_scenario import CHANGED, Scenario
from tidegate.config.organization import ORGANIZATION
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule


@pytest.fixture
def scenario():
    return Scenario(settings={"TIDEGATE_PLAN_REVIEW": "manual"})


@pytest.fixture
def file(scenario):
    return scenario.ports.organization_file


def push(scenario, number):
    """Push commit ``number`` on the one before."""
    return scenario.receive(f"delivery-{number}", before=sha(number - 1), after=sha(number))


def test_the_file_is_read_anew_and_understood_again_only_when_it_changed(scenario, file):
    reader = scenario.ports.organization
    nothing = reader()
    assert (nothing.says_nothing, nothing.review, reader() is nothing) == (True, PlanReview.MANUAL, True)
    file.content = b"defaults: {engine: tofu}"
    said = reader()
    assert (said.section.defaults, reader() is said) == ({"engine": "tofu"}, True)
    file.content = None
    assert reader().says_nothing


def test_what_the_organization_forces_holds_for_what_a_push_deploys(scenario, file):
    file.content = b"forced: {plan_review: {when: always, approvals: 2}}"
    scenario.new = {**CHANGED, "tidegate.yaml": "plan_review: never"}
    push(scenario, 1)
    assert {each.settings.review_rule for each in scenario.enqueued} == {ReviewRule(PlanReview.ALWAYS, 2)}


def test_a_repository_without_a_file_is_under_the_organizations_defaults(scenario, file):
    file.content = b"defaults: {plan_review: {when: always, approvals: 3}}"
    push(scenario, 1)
    assert {each.settings.review_rule for each in scenario.enqueued} == {ReviewRule(PlanReview.ALWAYS, 3)}


def test_a_file_that_cannot_be_used_stops_every_deploy_and_is_named_on_the_commit(scenario, file):
    file.content = b"version: 1\nforced: {plan_revew: never}\n"
    told = push(scenario, 1)
    assert scenario.enqueued == []
    assert f"{ORGANIZATION}:2:10" in told
    (shown,) = scenario.forge.check_runs.values()
    assert ORGANIZATION in shown.title
    assert "tidegate organization set" in shown.summary


def test_a_file_that_changed_counts_for_the_next_push_at_once(scenario, file):
    push(scenario, 1)
    assert {each.settings.review_rule.approvals for each in scenario.enqueued} == {1}
    scenario.forget()
    file.content = b"limits: {plan_review: {approvals: 2}}"
    push(scenario, 2)
    assert {each.settings.review_rule.approvals for each in scenario.enqueued} == {2}
