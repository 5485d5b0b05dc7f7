"""What the organization says around repositories' files, from its file to the deployments of a push."""

from __future__ import annotations

import pytest

from tests.builders import sha
from tests.unit.usecases.push_world import CHANGED, World
from tidegate.config.organization import ORGANIZATION
from tidegate.deploys.rules.review_rule import PlanReview, ReviewRule


@pytest.fixture
def world():
    return World(settings={"TIDEGATE_PLAN_REVIEW": "manual"})


@pytest.fixture
def file(world):
    return world.ports.organization_file


def push(world, number):
    """Push commit ``number`` on the one before."""
    return world.receive(f"delivery-{number}", before=sha(number - 1), after=sha(number))


def test_the_file_is_read_anew_and_understood_again_only_when_it_changed(world, file):
    reader = world.ports.organization
    nothing = reader()
    assert (nothing.says_nothing, nothing.review, reader() is nothing) == (True, PlanReview.MANUAL, True)
    file.content = b"defaults: {engine: tofu}"
    said = reader()
    assert (said.section.defaults, reader() is said) == ({"engine": "tofu"}, True)
    file.content = None
    assert reader().says_nothing


def test_what_the_organization_forces_holds_for_what_a_push_deploys(world, file):
    file.content = b"forced: {plan_review: {when: always, approvals: 2}}"
    world.new = {**CHANGED, "tidegate.yaml": "plan_review: never"}
    push(world, 1)
    assert {each.settings.review_rule for each in world.enqueued} == {ReviewRule(PlanReview.ALWAYS, 2)}


def test_a_repository_without_a_file_is_under_the_organizations_defaults(world, file):
    file.content = b"defaults: {plan_review: {when: always, approvals: 3}}"
    push(world, 1)
    assert {each.settings.review_rule for each in world.enqueued} == {ReviewRule(PlanReview.ALWAYS, 3)}


def test_a_file_that_cannot_be_used_stops_every_deploy_and_is_named_on_the_commit(world, file):
    file.content = b"version: 1\nforced: {plan_revew: never}\n"
    told = push(world, 1)
    assert world.enqueued == []
    assert f"{ORGANIZATION}:2:10" in told
    (shown,) = world.forge.check_runs.values()
    assert ORGANIZATION in shown.title
    assert "tidegate organization set" in shown.summary


def test_a_file_that_changed_counts_for_the_next_push_at_once(world, file):
    push(world, 1)
    assert {each.settings.review_rule.approvals for each in world.enqueued} == {1}
    world.forget()
    file.content = b"limits: {plan_review: {approvals: 2}}"
    push(world, 2)
    assert {each.settings.review_rule.approvals for each in world.enqueued} == {2}
