"""Pull requests that are applied go through the queues of their roots as deploys by hand do, and are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import amended, any_deployed, any_deployment, any_lock, any_revision, sha
from tests.unit.deploys.queue.scenario import related
from tidegate.deploys.rules.request import Trigger
from tidegate.deploys.rules.state import State
from tidegate.deploys.texts.presentation import View
from tidegate.deploys.texts.text import render
from tidegate.vcs.rules.comparison import Comparison

BASE = 8


@pytest.fixture
def applying(scenario):
    """Return a pull request's apply in flight: its head is commit 3, merged with commit 8."""
    deployment = any_deployment(3, trigger=Trigger.MANUAL, pull_request=5, base_sha=sha(BASE))
    scenario.in_flight(deployment)
    return deployment


def test_it_locks_the_queue_and_says_until_when(scenario, applying):
    assert scenario.validate(applying).allowed
    lock = scenario.head.lock
    assert (lock.deployment, lock.pull_request) == (applying.id, 5)
    assert "until it is merged, or the queue is unlocked" in lock.reason


def test_it_contains_what_its_base_contains(scenario, applying):
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 3, Comparison.DIVERGED)
    related(scenario, 2, BASE, Comparison.AHEAD)
    assert scenario.validate(applying).allowed
    assert scenario.deployments.get(applying.id).planned.must_review is None


def test_what_was_merged_and_deployed_since_it_was_asked_for_is_not_undone(scenario, applying):
    scenario.change(deployed=any_deployed(2))
    related(scenario, 2, 3, Comparison.DIVERGED)
    related(scenario, 2, BASE, Comparison.BEHIND)
    answer = scenario.validate(applying)
    assert not answer.allowed
    assert "comment tidegate apply again" in answer.reason
    assert scenario.deployments.get(applying.id).state is State.REFUSED


def test_what_another_deploy_by_hand_left_is_undone_once_people_have_looked(scenario, applying):
    scenario.change(deployed=any_deployed(2, trigger=Trigger.MANUAL))
    related(scenario, 2, 3, Comparison.DIVERGED)
    related(scenario, 2, BASE, Comparison.DIVERGED)
    assert scenario.validate(applying).allowed
    assert "diverged" in (scenario.deployments.get(applying.id).planned.must_review or "")


@pytest.mark.parametrize(("by", "allowed"), [(7, False), (None, False), (5, True)])
def test_what_another_pull_request_has_applied_meanwhile_is_not_undone(scenario, applying, by, allowed):
    scenario.change(lock=any_lock(pull_request=by))
    answer = scenario.validate(applying)
    assert answer.allowed is allowed
    assert allowed or "is locked by" in answer.reason


def test_one_whose_pull_request_was_closed_meanwhile_is_not_let_in(scenario, applying):
    claimed = scenario.deployments.get(applying.id)
    scenario.deployments.save(amended(claimed, withdrawn="#5 was closed without a merge."))
    answer = scenario.validate(applying)
    assert (answer.allowed, answer.reason) == (False, "#5 was closed without a merge.")
    assert scenario.deployments.get(applying.id).state is State.REFUSED
    assert scenario.head.lock is None


def test_its_end_is_told_to_those_who_go_on_with_the_pull_request(scenario, applying):
    scenario.record(applying)
    assert scenario.event_publisher.applied == ["acme/infra#5"]


def test_the_end_of_other_deployments_is_not(scenario):
    other = any_deployment(3, trigger=Trigger.MANUAL, pull_request=5)
    scenario.in_flight(other)
    scenario.record(other)
    assert scenario.event_publisher.applied == []


def test_its_check_run_says_what_it_is_merged_with():
    deployment = any_deployment(
        3, trigger=Trigger.MANUAL, pull_request=5, base_sha=sha(BASE), revision=any_revision(3, branch="feature")
    )
    facts = f"`{sha(3)[:7]}` of `feature`, merged with `{sha(BASE)[:7]}`, #5"
    assert facts in render(deployment, View()).summary
    assert (
        "merged with"
        not in render(replace(deployment, request=replace(deployment.request, base_sha="")), View()).summary
    )
